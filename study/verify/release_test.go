package verify_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/server"
	"caucus/study"
	"caucus/study/verify"
	"caucus/study/verify/evidence"
)

func handOver(t *testing.T, from *protocol.Signer) (*protocol.Signer, protocol.Signed) {
	t.Helper()
	to := must(protocol.NewSigner())
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	return to, must(protocol.Succession{From: from.Key(), To: to.Key(),
		Authority: must(server.NewAuthority(at)).DER(), At: at}.Sign(from))
}

// says reports whether a finding with this verdict and subject contains the text.
func says(all []evidence.Finding, v evidence.Verdict, about, text string) bool {
	for _, f := range all {
		if f.Verdict == v && f.Subject == about && strings.Contains(f.Text, text) {
			return true
		}
	}
	return false
}

// TestRelease: Release alone reports everything that the command shows: who signed, what no daemon
// runs, and what the site's own papers contradict.
func TestRelease(t *testing.T) {
	c := conclude()
	stranger := must(protocol.NewSigner())
	own, others := c.site.Keys, must(protocol.FollowKeys(stranger.Key(), nil))
	next, succession := handOver(t, c.signer)
	rotated := sign(next, c.release.Release)
	rotated.Successions = []protocol.Signed{succession}
	forged := sign(stranger, c.release.Release)
	_, other := handOver(t, stranger)
	forged.Successions = []protocol.Signed{other}
	unsigned, damaged := c.release, c.release
	unsigned.Signature = nil
	damaged.Document = append([]byte(nil), damaged.Document...)
	damaged.Document[10] ^= 1
	broken := c.release.Release
	broken.Plan = []byte(`{}`)
	daemonless := c.release.Release
	daemonless.Plan = []byte(strings.Replace(string(daemonless.Plan), `"deadline":"2030-06-30T00:00:00Z",`, "", 1))
	daemonless.PlanHash = study.HashOf(daemonless.Plan)

	site := func(change func(s *evidence.Party)) *evidence.Party {
		s := c.site
		change(&s)
		return &s
	}
	for name, test := range map[string]struct {
		r       protocol.SignedRelease
		known   verify.VerifierInputs
		verdict evidence.Verdict
		about   string
		says    string
		fails   bool
	}{
		"nobody's word":       {c.release, verify.VerifierInputs{Pool: c.pool}, evidence.NotProvable, "signature", "the file says so itself", false},
		"the key":             {c.release, verify.VerifierInputs{Pool: c.pool, Keys: &own, KeysFrom: "--key"}, evidence.Holds, "signature", "(--key)", false},
		"another's key":       {c.release, verify.VerifierInputs{Pool: c.pool, Keys: &others}, evidence.Fails, "signature", "which is not the coordinator's key", true},
		"handed over":         {rotated, verify.VerifierInputs{Pool: c.pool, Keys: &own}, evidence.Holds, "signature", "nothing was changed", false},
		"handed over at site": {rotated, verify.VerifierInputs{Pool: c.pool, Party: &c.site}, evidence.Holds, "receipt", "the release counts it", false},
		"handed over since": {
			c.release, verify.VerifierInputs{Pool: c.pool, Keys: new(must(protocol.FollowKeys(c.signer.Key(), []protocol.Signed{succession})))},
			evidence.Holds, "signature", "it has since handed over", false,
		},
		"another hands over":  {forged, verify.VerifierInputs{Pool: c.pool, Keys: &own}, evidence.Fails, "signature", "not the coordinator's key", true},
		"unsigned":            {unsigned, verify.VerifierInputs{Pool: c.pool}, evidence.Fails, "signature", "nobody signed", true},
		"damaged":             {damaged, verify.VerifierInputs{Pool: c.pool}, evidence.Fails, "signature", "was changed after", true},
		"no plan":             {sign(c.signer, broken), verify.VerifierInputs{Pool: c.pool}, evidence.Fails, "plan", "it was changed", true},
		"no daemon's plan":    {sign(c.signer, daemonless), verify.VerifierInputs{Pool: c.pool}, evidence.Fails, "plan", "no coordinator or agent runs it", true},
		"no pool":             {c.release, verify.VerifierInputs{}, evidence.Unchecked, "pool", "no pool was given", false},
		"unreadable pool":     {c.release, verify.VerifierInputs{PoolError: errors.New("pool.csv: moved")}, evidence.Unchecked, "pool", "pool.csv: moved", false},
		"roster without pool": {sign(c.signer, func() study.Release { r := c.release.Release; r.Parties = 9; return r }()), verify.VerifierInputs{}, evidence.Fails, "parties", "M = 9", true},
		"no receipt":          {c.release, verify.VerifierInputs{Pool: c.pool, Party: site(func(s *evidence.Party) { s.Receipt = nil })}, evidence.CoordinatorsWord, "receipt", "its upload is here", false},
		"sent nothing":        {c.release, verify.VerifierInputs{Pool: c.pool, Party: site(func(s *evidence.Party) { s.Receipt, s.Upload = nil, nil })}, evidence.Fails, "receipt", "has sent nothing", true},
		"bad receipt":         {c.release, verify.VerifierInputs{Pool: c.pool, Party: site(func(s *evidence.Party) { s.BadReceipt = errors.New("torn") })}, evidence.Fails, "receipt", "torn", true},
		"forged receipt": {c.release,
			verify.VerifierInputs{Pool: c.pool, Party: site(func(s *evidence.Party) {
				s.Receipt = new(must(protocol.Receipt{Plan: c.release.Release.PlanHash,
					Party: s.Party}.Sign(stranger)))
			})}, evidence.Fails, "receipt", "not the coordinator's", true},
		"other bytes":     {c.release, verify.VerifierInputs{Pool: c.pool, Party: site(func(s *evidence.Party) { s.Upload = []byte("other") })}, evidence.Fails, "receipt", "other bytes", true},
		"forgotten":       {c.release, verify.VerifierInputs{Pool: c.pool, Party: site(func(s *evidence.Party) { s.Ledger = ledgerOf(nil) })}, evidence.Fails, "charge", "holds no charge", true},
		"cheaper":         {c.release, verify.VerifierInputs{Pool: c.pool, Party: site(func(s *evidence.Party) { s.Ledger = cheaper(s.Ledger) })}, evidence.Fails, "charge", "but plan and pool declare", true},
		"no ledger there": {c.release, verify.VerifierInputs{Pool: c.pool, Party: site(func(s *evidence.Party) { s.Ledger = unreadable })}, evidence.Fails, "charge", "cannot be read", true},
	} {
		t.Run(name, func(t *testing.T) {
			found := verify.Release(test.r, test.known)
			if !says(found, test.verdict, test.about, test.says) ||
				evidence.AnyFails(found) != test.fails {
				t.Errorf("want %s %s: …%s…, fails %t; have %+v", test.verdict, test.about,
					test.says, test.fails, found)
			}
		})
	}
}

// cheaper is a ledger whose lines have no costs.
func cheaper(l evidence.LineFinder) evidence.LineFinder {
	return func(id string) (privacy.Line, bool, error) {
		line, found, err := l(id)
		line.Costs = nil
		return line, found, err
	}
}

func unreadable(string) (privacy.Line, bool, error) {
	return privacy.Line{}, false, errors.New("the disk is gone")
}

// TestCompareCoordinator: the coordinator's ledger must have the release's entry, unchanged, and no
// other.
func TestCompareCoordinator(t *testing.T) {
	c := conclude()
	anew := conclude().ledger[0]
	anew.ID = c.ledger[0].ID
	unnamed := c.release.Release
	unnamed.Ledger = nil
	atSite := c.release.Release
	atSite.Plan = []byte(strings.Replace(string(atSite.Plan), `"noise":"coordinator"`, `"noise":"site"`, 1))
	atSite.PlanHash = study.HashOf(atSite.Plan)
	for name, test := range map[string]struct {
		r       protocol.SignedRelease
		ledger  evidence.LineFinder
		verdict evidence.Verdict
		says    string
	}{
		"the same":          {c.release, ledgerOf(c.ledger), evidence.Holds, "is the one that the release names"},
		"cut off":           {c.release, ledgerOf(nil), evidence.Fails, "does not have"},
		"anew":              {c.release, ledgerOf([]privacy.Line{anew}), evidence.Fails, "written anew"},
		"unnamed":           {sign(c.signer, unnamed), ledgerOf(c.ledger), evidence.Fails, "does not name"},
		"unreadable":        {c.release, unreadable, evidence.Fails, "the disk is gone"},
		"each site's noise": {sign(c.signer, atSite), ledgerOf(c.ledger), evidence.Holds, "charged nothing for it"},
	} {
		t.Run(name, func(t *testing.T) {
			found := evidence.CompareCoordinator(test.r, c.signer.Key(), privacy.NewLedgerChain(),
				test.ledger)
			if !says(found, test.verdict, "charge", test.says) ||
				!says(found, evidence.Holds, "signature", "the coordinator signed") {
				t.Errorf("have %+v", found)
			}
		})
	}
	if found := evidence.CompareCoordinator(c.release, must(protocol.NewSigner()).Key(),
		privacy.NewLedgerChain(), ledgerOf(c.ledger)); !says(found, evidence.Fails, "signature",
		"not what this coordinator signed") {
		t.Errorf("another's key: %+v", found)
	}
	if found := evidence.CompareParty(c.release, c.pool, c.site); len(found) != 3 ||
		evidence.AnyFails(found) {
		t.Errorf("a site: %+v", found)
	}
}

// TestRecall: remembered heads reveal missing entries.
func TestRecall(t *testing.T) {
	c := conclude()
	chain := privacy.NewLedgerChain()
	if err := chain.AddLine(c.ledger[0]); err != nil {
		t.Fatal(err)
	}
	other := privacy.Head{Sequence: 1, Hash: privacy.Digest{9}}
	for name, test := range map[string]struct {
		m       evidence.LedgerMemory
		verdict evidence.Verdict
		about   string
		says    string
	}{
		"nothing":      {evidence.LedgerMemory{}, evidence.Unchecked, "remembered", "nothing kept elsewhere"},
		"an empty one": {evidence.LedgerMemory{Heads: []evidence.RememberedHead{{Who: "me"}}}, evidence.Unchecked, "remembered", "nothing kept elsewhere"},
		"its head":     {evidence.LedgerMemory{Heads: []evidence.RememberedHead{{Head: chain.Head(), Who: "me"}}}, evidence.Holds, "remembered", "me names entry 1, which is in the ledger"},
		"a number":     {evidence.LedgerMemory{Heads: []evidence.RememberedHead{{Head: privacy.Head{Sequence: 1}, Who: "me"}}}, evidence.Holds, "remembered", "entry 1"},
		"another head": {evidence.LedgerMemory{Heads: []evidence.RememberedHead{{Head: other, Who: "me"}}}, evidence.Fails, "remembered", "me: "},
		"quoted":       {evidence.LedgerMemory{QuotedHeads: []privacy.Head{{Sequence: 3}}}, evidence.Holds, "coordinator", "up to entry 3"},
		"went back":    {evidence.LedgerMemory{QuoteError: errors.New("went back")}, evidence.Fails, "coordinator", "went back"},
	} {
		if found := evidence.CompareMemory(chain, test.m); !says(found, test.verdict, test.about,
			test.says) {
			t.Errorf("%s: %+v", name, found)
		}
	}
	for _, test := range []struct {
		entries int
		broken  error
		verdict evidence.Verdict
		says    string
	}{{0, nil, evidence.Holds, "no entries"}, {2, nil, evidence.Holds, "2 entries"},
		{1, errors.New("torn"), evidence.Fails, "torn"}} {
		if found := evidence.CheckChain(test.entries, test.broken); !says(found, test.verdict,
			"chain",
			test.says) {
			t.Errorf("%+v", found)
		}
	}
}

// TestReleaseLines: lines count only if signed and with their own hashes.
func TestReleaseLines(t *testing.T) {
	c := conclude()
	if l, err := evidence.ReleaseLines(c.release, nil); err != nil || len(l) != 1 {
		t.Errorf("%v, %v", l, err)
	}
	if _, err := evidence.ReleaseLines(c.release, must(protocol.NewSigner()).Key()); !errors.Is(err,
		protocol.ErrDamaged) {
		t.Errorf("by another key: %v", err)
	}
	changed := c.release.Release
	changed.Ledger = append([]privacy.Line(nil), changed.Ledger...)
	changed.Ledger[0].Sequence++
	if _, err := evidence.ReleaseLines(sign(c.signer, changed), nil); err == nil ||
		!strings.Contains(err.Error(), "ledger entry 2") {
		t.Errorf("a line changed: %v", err)
	}
}

// ledgerOf makes a Ledger of exported lines.
func ledgerOf(lines []privacy.Line) evidence.LineFinder {
	return func(id string) (privacy.Line, bool, error) {
		for _, l := range lines {
			if l.ID == id {
				return l, true, nil
			}
		}
		return privacy.Line{}, false, nil
	}
}
