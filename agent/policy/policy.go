package policy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"caucus/aggregator/uploading"
	"caucus/auxdata"
	"caucus/internal/textpage"
	"caucus/learners"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds"
)

// These values of Policy.Approval say who decides last about a study that the policy allows.
const (
	// ApproveByPerson: a person runs "caucus agent approve" for each study.
	ApproveByPerson = "person"
	// ApproveByTwo: two of the people whom the policy names approve, each with their own key.
	ApproveByTwo = "two-persons"
	// ApproveByPolicy: the agent joins every allowed study at once.
	ApproveByPolicy = "policy"
)

// Policy holds a site's rules. It allows only what its lists name; the zero Policy allows nothing.
type Policy struct {
	// Kinds, Mechanisms and Noise list the allowed names: Kinds for example "classify", Mechanisms
	// "cross" and "tally", Noise "site", "coordinator" or "aggregators". With "coordinator", the
	// coordinator gets the site's exact votes or sums. With "aggregators" it gets them only if it
	// colludes with the helper.
	Kinds      []string      `yaml:"kinds"`
	Mechanisms []string      `yaml:"mechanisms"`
	Noise      []study.Noise `yaml:"noise"`
	// Helper is the second server that this site trusts, for noise: aggregators.
	Helper Helper `yaml:"helper"`
	// Learners are the classifiers that this site trains, by default only "softmax". All of them
	// end within public bounds. The entry "any" allows plans that let each site choose its
	// classifier, which may be a program (learner and scorer in the configuration).
	Learners []string `yaml:"learners"`
	// MaxPoolRows and MaxFeatures bound the public pool and the features of a record, mapped or
	// not, that a study may use. 0 means 50,000 and 10,000.
	MaxPoolRows int `yaml:"max_pool_rows"`
	MaxFeatures int `yaml:"max_features"`
	// MaxTime is the longest time for preparing one study, during which the agent is silent. 0
	// means an hour.
	MaxTime time.Duration `yaml:"max_time"`
	// StudyLimit is the most that one study may cost, at each allowed unit.
	StudyLimit map[privacy.Unit]privacy.Budget `yaml:"study"`
	// MinEpsilon is the least ε of a study. It makes a budget pay for a few questions and not for
	// thousands of cheap ones. 0 means 0.05.
	MinEpsilon float64 `yaml:"least_epsilon"`
	// StudiesADay bounds how many studies start here in a day (UTC). Further ones wait for the next
	// day. 0 means 20.
	StudiesADay int `yaml:"studies_a_day"`
	// TotalLimit is the most that all studies may cost together: the limits of the site's ledger. A
	// study without a guarantee at a limited unit is refused. So limit the finest unit that
	// StudyLimit allows; costs at coarser units count there too. Its δ should be several times a
	// study's δ, because counting different kinds of cost in one ledger uses up some of it.
	TotalLimit map[privacy.Unit]privacy.Budget `yaml:"total"`
	// YearLimit is the most that all studies of a calendar year (UTC) may cost together, in
	// addition to TotalLimit. A charge counts for the newest year that has begun before it. A year
	// begins once, when this machine's clock and the coordinator's agree on it. While they differ
	// by more than an hour, nothing is charged. Charges made before the first charge with a year
	// count for that year.
	YearLimit map[privacy.Unit]privacy.Budget `yaml:"year"`
	// MaxExtension is the longest extension of a plan's deadline by amendments: by default 60 days;
	// 0s is no limit.
	MaxExtension time.Duration `yaml:"max_extension"`
	// MinimumParties is the least number of contributions, at least 2, that a study must promise. A
	// study promises its plan's floor, or its minimum if there is no floor.
	MinimumParties int `yaml:"minimum_parties"`
	// ClearColumns names the columns that may leave in clear.
	ClearColumns []string `yaml:"clear_columns"`
	// AllowNamedResults lets readers see this site's numbers, with their noise, under the site's
	// name.
	AllowNamedResults bool `yaml:"named_results"`
	// Approval is "person", "two-persons" or "policy".
	Approval string `yaml:"approval"`
	// Approvers are the people who may approve, each with name and public key (see "caucus agent
	// approver"). Approval "two-persons" needs at least two. With "person" and no approvers,
	// anybody with access to the folder may approve.
	Approvers map[string]protocol.SignerKey `yaml:"approvers"`
}

// DefaultPolicy allows nothing and requires that a person approves.
func DefaultPolicy() Policy {
	return Policy{MinimumParties: 2, Approval: ApproveByPerson, MaxExtension: 60 * 24 * time.Hour}
}

// Validate returns an error that names the wrong field and says what to do.
func (p Policy) Validate() error {
	for _, limits := range []struct {
		field string
		most  map[privacy.Unit]privacy.Budget
	}{{"study", p.StudyLimit}, {"total", p.TotalLimit}, {"year", p.YearLimit}} {
		for _, u := range privacy.Units() {
			if g, ok := limits.most[u]; ok {
				if err := g.Validate(); err != nil {
					return fmt.Errorf("%s: %s: %w", limits.field, u, err)
				}
			}
		}
	}
	for u := range p.StudyLimit {
		// A cost counts in full at every finer unit, so a limit there bounds it.
		if !slices.ContainsFunc(privacy.Units(), func(at privacy.Unit) bool {
			_, ok := p.TotalLimit[at]
			return ok && at <= u
		}) {
			return fmt.Errorf("total: unit %s is allowed under study but has no limit at that unit or a finer one: give the most that all studies may cost together", u)
		}
		for field, limits := range map[string]map[privacy.Unit]privacy.Budget{"total": p.TotalLimit,
			"year": p.YearLimit} {
			for limited := range limits {
				if u < limited {
					return fmt.Errorf("%s: unit %s is limited, but studies at unit %s, which the policy allows, guarantee nothing there: drop one of the two", field, limited, u)
				}
			}
		}
	}
	for _, n := range p.Noise {
		if err := n.Validate(); err != nil {
			return fmt.Errorf("noise: %w", err)
		}
	}
	if err := p.Helper.validate(slices.ContainsFunc(p.Noise, study.Noise.Shared)); err != nil {
		return fmt.Errorf("helper: %w", err)
	}
	for _, m := range p.Mechanisms {
		if !slices.Contains(kinds.Mechanisms(), m) {
			return fmt.Errorf("mechanisms: %q is none of %s", m,
				strings.Join(kinds.Mechanisms(), ", "))
		}
	}
	for _, l := range p.Learners {
		if l != learners.AnyClassifier && !slices.Contains(learners.Names(), l) {
			return fmt.Errorf("learners: %q is none of %s, %s", l,
				strings.Join(learners.Names(), ", "), learners.AnyClassifier)
		}
	}
	if !(p.MinEpsilon >= 0) || p.StudiesADay < 0 {
		return errors.New("least_epsilon, studies_a_day: give none or a number above 0")
	}
	if p.MaxPoolRows < 0 || p.MaxFeatures < 0 || p.MaxTime < 0 || p.MaxExtension < 0 {
		return errors.New("max_pool_rows, max_features, max_time, max_extension: give none or a number above 0")
	}
	if p.MinimumParties < 2 {
		return fmt.Errorf("minimum_parties: %d: give at least 2; a study of one party releases that party", p.MinimumParties)
	}
	if !slices.Contains([]string{ApproveByPerson, ApproveByTwo, ApproveByPolicy}, p.Approval) {
		return fmt.Errorf("approval: %q: want %s, %s or %s", p.Approval, ApproveByPerson,
			ApproveByTwo, ApproveByPolicy)
	}
	keys := map[protocol.SignerKey]string{}
	for _, name := range p.ApproverNames() {
		key := p.Approvers[name]
		if err := protocol.CheckPersonName(name); err != nil {
			return fmt.Errorf("approvers: %w", err)
		}
		if other, taken := keys[key]; taken {
			return fmt.Errorf("approvers: %s and %s have one key: each person makes their own with caucus agent approver", other, name)
		}
		keys[key] = name
	}
	if p.Approval == ApproveByTwo && len(keys) < 2 {
		return fmt.Errorf("approvers: %d are named, %s needs at least 2: each makes a key with caucus agent approver NAME", len(keys), ApproveByTwo)
	}
	return nil
}

// ApproverNames is sorted, so that pages and messages do not change from call to call.
func (p Policy) ApproverNames() []string { return slices.Sorted(maps.Keys(p.Approvers)) }

// Objections lists the reasons for which this policy refuses a plan, one a line. They depend on
// plan and policy alone. An empty list allows the plan.
func (p Policy) Objections(plan study.Plan) []string {
	var out []string
	object := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	allowed := func(field, value string, list []string) {
		if !slices.Contains(list, value) {
			object("%s %q is not allowed: the policy allows %s", field, value, textpage.List(list))
		}
	}
	allowed("kind", plan.Kind, p.Kinds)
	allowed("mechanism", plan.Mechanism, p.Mechanisms)
	if no := p.noiseObjection(plan); no != "" {
		object("%s", no)
	}
	if most, ok := p.StudyLimit[plan.Unit]; !ok {
		object("unit %s is not allowed: the policy allows %s", plan.Unit,
			textpage.List(unitNames(p.StudyLimit)))
	} else {
		if plan.Epsilon > most.Epsilon {
			object("ε = %g is more than the %g that one study may cost at unit %s", plan.Epsilon, most.Epsilon, plan.Unit)
		}
		if least := p.leastEpsilon(); plan.Epsilon < least {
			object("ε = %g is less than the %g that the policy asks for at least (least_epsilon): a budget would pay for too many questions", plan.Epsilon, least)
		}
		if plan.Delta > most.Delta {
			object("δ = %g is more than the %g that one study may cost at unit %s", plan.Delta, most.Delta, plan.Unit)
		}
	}
	if least := plan.LeastParties(); least < p.MinimumParties {
		object("the study may close with %d parties, the policy asks for at least %d", least, p.MinimumParties)
	}
	if plan.Simulated {
		object("the plan is simulated: it protects nobody")
	}
	if plan.TermsDigest == "" {
		object("the plan does not say its terms: bounds and noise that are agreed on before any record is read")
	}
	// an unknown kind could ask for anything in clear
	if _, err := kinds.FindKind(plan.Kind); err != nil {
		object("%v", err)
		return out
	}
	if learner := kinds.Explain(plan).Learner; learner != "" {
		allowed("learner", learner, p.AllowedLearners())
	}
	if have, most := features(plan), p.maxFeatures(); have > most {
		object("its records have %d features, the policy allows %d", have, most)
	}
	for _, c := range kinds.Explain(plan).InClear {
		if !slices.Contains(p.ClearColumns, c) {
			object("column %q would leave in clear and the policy does not grant it", c)
		}
	}
	if kinds.Explain(plan).ShownByName && !p.AllowNamedResults {
		object("its readers would see this site's own numbers under its name, and the policy does not grant that (named_results: true)")
	}
	return out
}

// PoolObjection returns why the policy does not allow a study's public pool.
func (p Policy) PoolObjection(pool *auxdata.Pool) error {
	if have, most := pool.Rows(), p.maxPoolRows(); have > most {
		return fmt.Errorf("its pool has %d rows, the policy allows %d", have, most)
	}
	return nil
}

func features(plan study.Plan) int {
	most := max(plan.Schema.Dim(), plan.Map.Dim())
	for m := plan.Map.Inner; m != nil; m = m.Inner {
		most = max(most, m.Dim())
	}
	return max(most, kinds.Explain(plan).MaxNumbers)
}

// AllowedLearners lists the classifiers that a plan may ask for: Learners, or the default one alone
// if the policy names none.
func (p Policy) AllowedLearners() []string {
	if len(p.Learners) == 0 {
		return []string{learners.DefaultLearner}
	}
	return p.Learners
}

func (p Policy) leastEpsilon() float64 { return cmp.Or(p.MinEpsilon, .05) }

// DailyLimit is StudiesADay, or 20: how many studies of one day may be charged to the ledger here.
func (p Policy) DailyLimit() int  { return cmp.Or(p.StudiesADay, 20) }
func (p Policy) maxPoolRows() int { return cmp.Or(p.MaxPoolRows, 50_000) }
func (p Policy) maxFeatures() int { return cmp.Or(p.MaxFeatures, 10_000) }

// MaxWindow is MaxTime, or one hour: the longest window in which one study may be prepared.
func (p Policy) MaxWindow() time.Duration { return cmp.Or(p.MaxTime, time.Hour) }

func unitNames(m map[privacy.Unit]privacy.Budget) []string {
	var names []string
	for _, u := range slices.Sorted(maps.Keys(m)) {
		names = append(names, u.String())
	}
	return names
}

func (p Policy) noiseObjection(plan study.Plan) string {
	switch aggregators := plan.Noise.Shared(); {
	case !slices.Contains(p.Noise, plan.Noise) && aggregators:
		return fmt.Sprintf("noise %q is not allowed: the policy allows %s; to allow it, name the helper that this site trusts under policy: helper: (%s) and add %s to policy: noise:", plan.Noise, textpage.List(p.Noise), getKeys, plan.Noise)
	case !slices.Contains(p.Noise, plan.Noise):
		return fmt.Sprintf("noise %q is not allowed: the policy allows %s", plan.Noise,
			textpage.List(p.Noise))
	case aggregators && !p.Helper.Configured():
		return fmt.Sprintf("noise %q needs a helper, and the policy names none under helper: %s", plan.Noise, getKeys)
	}
	return ""
}

// EndingObjection says why plan and policy refuse an amended ending; "" means that it is allowed.
func (p Policy) EndingObjection(plan study.Plan, e study.Ending) string {
	if more := e.Deadline.Sub(plan.Deadline); p.MaxExtension > 0 && more > p.MaxExtension {
		return fmt.Sprintf("amendments moved the study's deadline by %v, the policy allows %v (max_extension)", more.Round(time.Minute), p.MaxExtension)
	}
	return ""
}

// RequiredApprovals counts the persons who must approve a study: 0 by policy alone, 2, or else 1.
// An unknown value of Approval counts as a person.
func (p Policy) RequiredApprovals() int {
	switch p.Approval {
	case ApproveByPolicy:
		return 0
	case ApproveByTwo:
		return 2
	}
	return 1
}

// Helper is the second server, which this site trusts not to collude with the coordinator. Another
// organisation runs it, where "caucus helper keys" prints the code of its keys. Get the code from
// that organisation, on paper or by telephone. Do not take it from the coordinator: a coordinator
// that invented it could be both servers.
type Helper struct {
	// Name says who runs the helper, for the people here who approve.
	Name string `yaml:"name"`
	// Code is the code of the helper's two keys, 20 letters and digits (protocol.KeyCode). After
	// its files were restored from a backup, a helper has a new code and tells each site.
	Code string `yaml:"code"`
	// Signing and Sealing may be given in place of Code. Signing is the helper's signing key, 64
	// hexadecimal digits.
	Signing protocol.SignerKey `yaml:"signing"`
	// Sealing is the fingerprint of the key to which the helper's shares are encrypted, 64
	// hexadecimal digits.
	Sealing protocol.KeyPin `yaml:"sealing"`
}

const getKeys = "get the code of its keys from the organisation that runs it (caucus helper keys prints it there), not from the coordinator"

// Pins returns the code or the two keys by which a party recognises its helper; zero if the policy
// names no helper.
func (h Helper) Pins() uploading.Pins {
	code, _, _ := protocol.ReadKeyCode(h.Code) // validate refuses a wrong one
	return uploading.Pins{Signing: h.Signing, Sealing: h.Sealing, Code: cmp.Or(code, h.Code)}
}

// Configured reports whether a code or a key is given. validate refuses one key without the other.
func (h Helper) Configured() bool { return h.Pins() != uploading.Pins{} }

// Words tells a person who the helper is and the short code of its two keys, to compare by
// telephone.
func (h Helper) Words() string {
	return fmt.Sprintf("%s, whose keys have the code %s", cmp.Or(h.Name, "a helper without a name"),
		cmp.Or(h.Pins().Code, protocol.KeyCode(h.Signing[:], h.Sealing[:])))
}

// validate's error names the wrong field and says what to do. needed says that studies may need a
// helper.
func (h Helper) validate(needed bool) error {
	none := uploading.Pins{}
	switch _, is, err := protocol.ReadKeyCode(h.Code); {
	case !h.Configured() && h.Name == "" && !needed:
		return nil
	case !h.Configured():
		return fmt.Errorf("code: noise by aggregators needs a helper that this site knows: %s", getKeys)
	case err != nil:
		return fmt.Errorf("code: %w", err)
	case h.Code != "" && !is:
		return fmt.Errorf("code: %q is none: a code has 20 letters and digits", h.Code)
	case h.Code != "" && (h.Signing != none.Signing || h.Sealing != none.Sealing):
		return errors.New("code: give it alone, or signing and sealing in its place")
	case is:
		return nil
	case h.Signing == none.Signing:
		return errors.New("signing: the key that the helper signs with is missing: " + getKeys)
	case h.Sealing == none.Sealing:
		return errors.New("sealing: the pin of the helper's sealing key is missing: " + getKeys)
	case h.Signing == protocol.SignerKey(h.Sealing):
		return errors.New("sealing: it is the same as signing: the helper has a number for each: " + getKeys)
	}
	return nil
}

// RefuseKeys refuses a helper whose key is one of the coordinator's known keys.
func (h Helper) RefuseKeys(coordinator protocol.Keys) error {
	if h.Signing != (protocol.SignerKey{}) && coordinator.Contains(h.Signing) {
		return errors.New("policy: helper: signing: this is the coordinator's own key: a coordinator that is its own helper sees what this site sends; " + getKeys)
	}
	return nil
}
