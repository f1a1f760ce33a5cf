package simulate

import (
	"fmt"
	"math/rand/v2"

	secret "caucus/aggregation/shares"
	"caucus/study"
	"caucus/study/bodies"
)

// servers are the coordinator and helper of a study with study.NoiseAggregators. If real is set,
// they add up every party's shares, with proofs. If not, they get shares of the parties' sum: the
// helper's is uniform, and the coordinator's is the difference. Both ways release exactly the sum
// with both noises (TestAggregators).
type servers struct {
	study.Sum // contributions in clear, which no server of a real study gets
	task      bodies.Task
	form      bodies.Provable
	real      bool
	random    *rand.ChaCha8 // randomness for a simulation, which hides nothing
	key       secret.Key
	total     []int64 // the sum in clear, if the servers hold shares of the sum
	held      [study.Servers]secret.SecretShare
	bytes     int
}

func newServers(t bodies.Task, sum study.Sum, real bool) (*servers, error) {
	form, ok := t.Statistic.(bodies.Provable)
	if !ok {
		return nil, fmt.Errorf("simulate aggregators: nothing is proved of a share of what %s sends", t.Plan().Mechanism)
	}
	seed := [32]byte(t.Hash())
	s := &servers{Sum: sum, task: t, form: form, real: real, random: rand.NewChaCha8(seed),
		key: secret.Key(seed), total: make([]int64, t.Statistic.Cells())}
	for r := range s.held {
		s.held[r] = secret.VectorForm{Cells: t.Statistic.Cells()}.NewSum()
	}
	return s, nil
}

// Add adds a contribution, in shares if real is set.
func (s *servers) Add(body []byte) error {
	vector, weight, err := s.task.Statistic.ParseClear(body)
	if err != nil {
		return err
	}
	if err := s.Sum.Add(body); err != nil {
		return err
	}
	form, err := bodies.FormOf(s.form, weight, s.task.Plan().MostParties())
	if err != nil {
		return err
	}
	for r := range s.held {
		s.bytes += form.PartSize(secret.Role(r))
	}
	if !s.real {
		for j, v := range vector {
			s.total[j] += v
		}
		return nil
	}
	// a different context for each contribution
	context := secret.NewProofContext(s.task.Hash(), fmt.Sprint(s.bytes))
	parts, err := form.Split(context, vector, s.random)
	if err != nil {
		return err
	}
	var prepared [study.Servers]*secret.Preparation
	for r := range prepared {
		if prepared[r], err = form.Prepare(s.key, context, secret.Role(r), parts[r]); err != nil {
			return err
		}
	}
	for r, p := range prepared {
		share, err := p.Finish(prepared[1-r].Message())
		if err != nil {
			return err
		}
		if err := s.held[r].Add(share); err != nil {
			return err
		}
	}
	return nil
}

func (s *servers) sums() (out [study.Servers]secret.SecretShare, err error) {
	if s.real {
		return s.held, nil
	}
	helper := make([]byte, 16*len(s.total))
	s.random.Read(helper)
	for j := range s.total { // clear the highest bit, so that the number is below the modulus
		helper[16*j+15] &= 0x7f
	}
	held, err := secret.VectorForm{Cells: len(s.total)}.ParseShare(helper)
	if err != nil {
		return out, err
	}
	rest := secret.UnhiddenShare(s.total)
	if err := rest.Subtract(held); err != nil {
		return out, err
	}
	return [study.Servers]secret.SecretShare{rest, held}, nil
}

func (s *servers) Requests(int) ([]study.Request, error) {
	sums, err := s.sums()
	if err != nil {
		return nil, err
	}
	var out []study.Request
	for r, share := range sums {
		request, err := bodies.ShareRequest(s.task.Statistic, secret.Role(r), share, s.Weight())
		if err != nil {
			return nil, err
		}
		out = append(out, request)
	}
	return out, nil
}
