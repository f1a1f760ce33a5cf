package privacy

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"caucus/privacy/audit"
)

// tableNumber reads a whole number from the environment.
func tableNumber(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q: give a number from 1 up", name, text)
	}
	return n
}

// written aligns rows of cells.
func written(rows [][]string) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, cells := range rows {
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	w.Flush()
	return out.String()
}

// TestAuditTable: no mechanism reveals more than its proof allows, on vectors so short that
// samples meet most outcomes; and its noise at the real calibration shows no dependence. Both
// tables are logged. The environment sets
//
//	CAUCUS_SAMPLES    draws from each of two neighbours, and one answer of 240 numbers for every
//	                  200 draws (default 6000 draws and 10 answers, since TestNoiseIsIndependent
//	                  has 200; the table of docs/generated/audit.md has 200000)
//	CAUCUS_REPEATS    audits of each mechanism; the strongest finding counts (default 1)
//	CAUCUS_MECHANISM  one sampler, such as dirichlet (default all)
//
// False alarms: 5e-13 for each of 17 audits and 1e-12 for each of 8; 1e-10 each, and repeats, if
// CAUCUS_SAMPLES is set.
func TestAuditTable(t *testing.T) {
	samples, repeats, mechanism := tableNumber(t, "CAUCUS_SAMPLES", 6_000), tableNumber(t,
		"CAUCUS_REPEATS", 1), os.Getenv("CAUCUS_MECHANISM")
	alarm, dependence, some := 5e-13, audit.DefaultDependenceTest(), 10
	if os.Getenv("CAUCUS_SAMPLES") != "" {
		some = max(some, samples/200)
		alarm, dependence.FalseAlarm = audit.Default().FalseAlarm, audit.Default().FalseAlarm
	}
	var known []string
	asked := func(trials []Trial) []Trial {
		for _, trial := range trials {
			known = append(known, trial.Mechanism.Name())
		}
		return slices.DeleteFunc(trials, func(trial Trial) bool {
			return mechanism != "" && mechanism != trial.Mechanism.Name()
		})
	}
	small, real := asked(must(Trials())), asked(must(RealTrials()))
	if len(small) == 0 || len(real) == 0 {
		t.Fatalf("CAUCUS_MECHANISM=%s: use one of %s", mechanism,
			strings.Join(slices.Compact(slices.Sorted(slices.Values(known))), ", "))
	}

	rows := [][]string{{"mechanism", "neighbours", "δ", "ε claimed", "ε shown", "by"}}
	for _, trial := range small {
		a := audit.Audit{Samples: samples, Delta: trial.Claim.Delta, FalseAlarm: alarm}
		f := must(a.Most(t.Context(), repeats, audit.IntegerDraw(trial.Draws(system{}))))
		rows = append(rows, []string{trial.Mechanism.Name(), trial.Pair,
			fmt.Sprint(trial.Claim.Delta), fmt.Sprintf("%.3f",
				trial.Claim.Epsilon), fmt.Sprintf("%.3f", f.Epsilon), f.Event})
		if f.Exceeds(trial.Claim.Epsilon) {
			t.Errorf("%s, %s: REFUTED: ε is at least %.3f by %s (%d and %d of %d), its proof says %.3f: do not release with this build, and report it",
				trial.Mechanism.Name(), trial.Pair, f.Epsilon, f.Event, f.EventCount, f.OtherCount,
				f.Tested,
				trial.Claim.Epsilon)
		}
	}
	t.Logf("%d draws from each of two neighbours, %d times; an honest mechanism is refuted with probability %.1g an audit\n%s", samples, repeats, alarm, written(rows))

	rows = [][]string{{"mechanism", "vector", "answers", "numbers", "dependence", "nearest"}}
	for _, trial := range real {
		ledger, s := opened(), must(NewSensitive(trial.Data[0], trial.Bound))
		var answers []answer
		for k := range some {
			answers = append(answers,
				answer{must(ledger.Release(t.Context(), fmt.Sprintf("answer %d", k), s,
					trial.Mechanism)), trial.Data[0]})
		}
		f := must(looked(dependence, answers))
		rows = append(rows, []string{trial.Mechanism.Name(), trial.Pair, fmt.Sprint(f.Answers),
			fmt.Sprint(f.Numbers), fmt.Sprintf("%.2f", f.Share), f.By})
		if f.Dependent {
			t.Errorf("%s, %s: REFUTED: the noise hangs together: %s: do not release with this build, and report it", trial.Mechanism.Name(), trial.Pair, f.By)
		}
	}
	t.Logf("dependence: the largest sum, of what independent noise reaches with probability %.1g an audit; 1 refutes\n%s", dependence.FalseAlarm, written(rows))
}
