package ratio

import (
	"math/rand/v2"

	"caucus/aggregation/embedding"
	"caucus/auxdata"
)

// MedianDistance is the median squared distance of the pool's mapped rows, the public scale of
// kernel widths.
func MedianDistance(pool *auxdata.Pool) (float64, error) {
	return embedding.MedianSquaredDistance(pool.X, rand.New(rand.NewPCG(1, 2)))
}
