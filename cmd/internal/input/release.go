package input

import (
	"fmt"
	"os"

	"caucus/auxdata"
	"caucus/cmd/internal/console"
	"caucus/dataset"
	"caucus/protocol"
	"caucus/study"
)

// mostWhole bounds the bytes of a file that is read into memory: one with tables of all sites has
// about 100 MB.
const mostWhole = 512 << 20

// ReadWhole reads a file that people pass on, and refuses one that is too large to be one.
func ReadWhole(name string) ([]byte, error) {
	if info, err := os.Stat(name); err == nil && info.Size() > mostWhole {
		return nil, tooLong(name)
	}
	return os.ReadFile(name)
}

func tooLong(name string) error {
	return fmt.Errorf("%s has more than %d MB, the most that is read at once: it is another file", name, mostWhole>>20)
}

// ReadSigned reads a release file with its signature, and checks neither.
func ReadSigned(name string) (protocol.SignedRelease, error) {
	b, err := ReadWhole(name)
	if err != nil {
		return protocol.SignedRelease{}, err
	}
	r, err := protocol.ReadRelease(b)
	if err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// ReadPool reads a pool file under a plan's schema and map. It does not check that this is the
// plan's pool.
func ReadPool(c *console.Console, how *ReadOptions, file string, format dataset.Format,
	p study.Plan) (*auxdata.Pool, error) {
	b, err := ReadWhole(file)
	if err != nil {
		return nil, err
	}
	table, err := auxdata.ReadCSV(b, p.Pool) // the canonical copy has a format of its own
	if err != nil {
		if table, err = how.Table(c, file, p.Schema, format); err != nil {
			return nil, err
		}
	}
	pool, err := study.PoolOf(p, table)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return pool, nil
}
