package desk_test

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"caucus/agent/desk"
	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/internal/testsite"
	"caucus/internal/webpage"
	"caucus/protocol"
	"caucus/study"
)

// sitting is a person at a site's page.
type sitting struct {
	t      *testing.T
	client *http.Client
	base   string
}

// asked is a site, a study that asks for its data, and the desk that shows the study.
type asked struct {
	*testsite.Site
	*desk.Desk
	site *site.Site
	d    site.StudyFolder // the study's
}

// ask opens a site's desk, on a study whose plan and pool were fetched.
func ask(t *testing.T, r *testsite.Site) asked {
	t.Helper()
	s := r.Open(t)
	fetched := func(context.Context) error { return nil }
	return asked{Site: r, Desk: desk.New(s, fetched), site: s, d: r.StorePlan(t, s)}
}

// newSite is a site whose policy requires a person's approval, unless change alters that.
func newSite(t *testing.T, change func(*study.Proposal)) *testsite.Site {
	t.Helper()
	r := testsite.New(t.TempDir(), testsite.SchemaYAML, change)
	r.Config.Policy.Approval = policy.ApproveByPerson
	return r
}

func sit(t *testing.T, a asked) *sitting {
	t.Helper()
	d, err := desk.NewPage(a.Desk, func() error { return nil }, a.Config.Log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	server := httptest.NewServer(d.Handler())
	t.Cleanup(server.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &sitting{t: t, client: &http.Client{Jar: jar, Timeout: time.Minute}}
	t.Cleanup(s.client.CloseIdleConnections)
	link, err := webpage.NewLink(a.Config.State, strings.TrimPrefix(server.URL, "http://"),
		a.Config.Now())
	if err != nil {
		t.Fatal(err)
	}
	reply, err := s.client.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	reply.Body.Close()
	s.base = strings.TrimSuffix(reply.Request.URL.String(), "/")
	return s
}

func (s *sitting) do(r *http.Request, err error) (int, string) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	reply, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply.StatusCode, string(text)
}

func (s *sitting) get(path string) (int, string) {
	s.t.Helper()
	return s.do(http.NewRequest("GET", s.base+path, nil))
}

// post sends a form as the page itself would; change may alter the request, for instance so that it
// seems to come from another page.
func (s *sitting) post(path string, form url.Values, change func(*http.Request)) (int, string) {
	s.t.Helper()
	r, err := http.NewRequest("POST", s.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", s.base[:strings.Index(s.base, "/at/")])
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if change != nil {
		change(r)
	}
	return s.do(r, nil)
}

// shownOn is the digest in the form of a study's page, "" without one.
func shownOn(page string) string {
	_, after, _ := strings.Cut(page, `name="shown" value="`)
	digest, _, _ := strings.Cut(after, `"`)
	return digest
}

// TestDesk: a person reads on the page what would leave, and approves. Only what was shown is
// approved: no other declaration, no form of another page, no form without the digest or the
// person.
func TestDesk(t *testing.T) {
	ctx := context.Background()
	r := newSite(t, nil)
	a := ask(t, r)
	s := sit(t, a)
	if code, text := s.get("/"); code != http.StatusOK ||
		!strings.Contains(text, "1 study waits") || !strings.Contains(text, "illness") ||
		!strings.Contains(text, "at most ε") {
		t.Errorf("the list: %d %s", code, text)
	}
	at := "/study/" + r.StudyPlan.Hash.String()
	code, page := s.get(at)
	old := shownOn(page)
	for _, says := range []string{"would leave", "each record is hidden at ε = 1",
		"declared with 61 records", "allows it once a person approves"} {
		if !strings.Contains(page, says) {
			t.Errorf("the study's page does not say %q: %d %s", says, code, page)
		}
	}
	if strings.Contains(page, "now 61") || strings.Contains(page, "<dt>classes</dt>") ||
		strings.Contains(page, "<script") {
		t.Errorf("it reads the records unasked, or runs something: %s", page)
	}
	if _, page := s.get(at + "?records=1"); !strings.Contains(page,
		"<dt>classes</dt><dd>no 30, yes 31") || !strings.Contains(page, "martian") &&
		!strings.Contains(page, "of no known level") {
		t.Errorf("the records, asked for: %s", page)
	}
	if err := r.Declare(); err != nil { // the same file again: another declaration
		t.Fatal(err)
	}
	data := r.Config.Data["ward"].File
	text, err := os.ReadFile(data)
	if err == nil {
		err = os.WriteFile(data, append(text, "33,f,no\n"...), 0o600)
	}
	if err == nil {
		err = r.Declare()
	}
	if err != nil {
		t.Fatal(err)
	}
	_, page = s.get(at)
	shown := shownOn(page)
	if len(old) != 64 || len(shown) != 64 || old == shown {
		t.Fatalf("shown %q, then %q", old, shown)
	}
	yes := url.Values{"name": {"alice"}, "shown": {shown}}
	for what, bad := range map[string]struct {
		form   url.Values
		change func(*http.Request)
	}{
		"of what was shown before":         {url.Values{"name": {"alice"}, "shown": {old}}, nil},
		"that does not say what was shown": {url.Values{"name": {"alice"}}, nil},
		"of the start of what was shown":   {url.Values{"name": {"alice"}, "shown": {shown[:8]}}, nil},
		"of nobody":                        {url.Values{"shown": {shown}}, nil},
		"of no name":                       {url.Values{"name": {"../../alice"}, "shown": {shown}}, nil},
		"of another page":                  {yes, func(r *http.Request) { r.Header.Set("Origin", "https://attacker.example") }},
		"of another port":                  {yes, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }},
		"without an origin":                {yes, func(r *http.Request) { r.Header.Del("Origin") }},
		"under another name":               {yes, func(r *http.Request) { r.Host = "attacker.example"; r.Header.Set("Origin", "http://attacker.example") }},
		"without a cookie":                 {yes, func(r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, "/at/", "/at/x", 1) }},
		"in the address":                   {nil, func(r *http.Request) { r.URL.RawQuery = yes.Encode() }},
		"too long":                         {url.Values{"name": {"alice"}, "shown": {shown}, "more": {strings.Repeat("x", 16<<10)}}, nil},
	} {
		if code, text := s.post(at+"/approve", bad.form, bad.change); code < 400 {
			t.Errorf("a form %s: %d %s", what, code, text)
		}
		if by, _ := a.site.Approvers(a.d, r.StudyPlan.Hash, r.StudyPlan.Plan); len(by) > 0 {
			t.Fatalf("a form %s approves", what)
		}
	}
	if code, text := s.do(http.NewRequest("GET", s.base+at+"/approve?"+yes.Encode(),
		nil)); code != http.StatusNotFound && code != http.StatusMethodNotAllowed {
		t.Errorf("an address approves: %d %s", code, text)
	}
	if code, text := s.post(at+"/approve", yes, nil); code != http.StatusOK ||
		!strings.Contains(text, "approved by alice") {
		t.Errorf("approve: %d %s", code, text)
	}
	if by, _ := a.site.Approvers(a.d, r.StudyPlan.Hash, r.StudyPlan.Plan); !slices.Equal(by,
		[]string{"alice"}) {
		t.Fatalf("approved by %q", by)
	}
	audit, err := os.ReadFile(site.AuditFile(r.Config))
	if err != nil || !strings.Contains(string(audit), "through the agent's page") || !strings.Contains(string(audit), `"by":"alice"`) {
		t.Errorf("the audit log: %v %s", err, audit)
	}
	if log := r.Log.String(); strings.Contains(log, "link=") || strings.Contains(log, shown) {
		t.Errorf("the log: %s", log)
	}
	if err := a.d.Write(site.FileRelease, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, page := s.get(at); !strings.Contains(page, "The release is here") ||
		strings.Contains(page, "<form class") {
		t.Errorf("after the release: %s", page)
	}
	if _, _, err := a.Preview(ctx, "illness"); err != nil {
		t.Error(err)
	}
}

// TestDeskNames: a person's name may have spaces and letters of any script. Equal names in
// different Unicode forms are one name. The policy's own name cannot be used. After an error, the
// form says why, and keeps what was typed.
func TestDeskNames(t *testing.T) {
	r := newSite(t, nil)
	a := ask(t, r)
	s := sit(t, a)
	at := "/study/" + r.StudyPlan.Hash.String()
	_, page := s.get(at)
	if !strings.Contains(page, protocol.PersonNameRule) {
		t.Errorf("the form does not say its rule: %s", page)
	}
	shown := shownOn(page)
	for _, name := range []string{"policy", "Ledger", "", "  ", "a/b", "<b>", "-", ". a",
		strings.Repeat("x", 64)} {
		for _, do := range []string{"/approve", "/refuse"} {
			form := url.Values{"name": {name}, "shown": {shown}, "reason": {"the board's \"no\""}}
			code, page := s.post(at+do, form, nil)
			kept := strings.Contains(html.UnescapeString(page), `value="`+name+`"`) &&
				strings.Contains(html.UnescapeString(page), `value="the board's "no""`)
			if code != http.StatusConflict || !strings.Contains(page, "Nothing was decided: ") ||
				!kept {
				t.Errorf("%s by %q: %d %s", do, name, code, page)
			}
		}
	}
	for _, name := range []string{"Anna Schmidt", "Mu\u0308ller", " Müller", "anna  schmidt",
		"李 明"} {
		code, page := s.post(at+"/approve", url.Values{"name": {name}, "shown": {shown}}, nil)
		if code != http.StatusOK {
			t.Errorf("%q: %d %s", name, code, page)
		}
	}
	by, _ := a.site.Approvers(a.site.Studies.Folder(r.StudyPlan.Hash), r.StudyPlan.Hash,
		r.StudyPlan.Plan)
	slices.Sort(by)
	if !slices.Equal(by, []string{"Anna Schmidt", "Müller", "李 明"}) {
		t.Errorf("approved by %q", by)
	}
}

// TestDeskAllowsNoMore: a page cannot allow what the policy refuses; if persons sign with keys, a
// page takes no key and approves nothing; a refusal is for good.
func TestDeskAllowsNoMore(t *testing.T) {
	t.Run("policy", func(t *testing.T) {
		r := newSite(t, nil)
		r.Config.Policy.Mechanisms = nil
		a := ask(t, r)
		s := sit(t, a)
		_, page := s.get("/study/" + r.StudyPlan.Hash.String())
		if strings.Contains(page, "/approve\"") ||
			!strings.Contains(page, "refused by the policy") {
			t.Errorf("the page offers to approve: %s", page)
		}
		shown, err := a.ReviewWithoutRecords(t.Context(), r.StudyPlan.Hash)
		if err != nil {
			t.Fatal(err)
		}
		if code, text := s.post("/study/"+r.StudyPlan.Hash.String()+"/approve",
			url.Values{"name": {"alice"},
				"shown": {shown.DeclarationDigest}}, nil); code != http.StatusConflict ||
			!strings.Contains(text, "policy does not allow") {
			t.Errorf("approve: %d %s", code, text)
		}
	})
	t.Run("two persons", func(t *testing.T) {
		r, keys := twoPersons(t)
		a := ask(t, r)
		s := sit(t, a)
		_, page := s.get("/study/" + r.StudyPlan.Hash.String())
		if strings.Contains(page, "/approve\"") || !strings.Contains(page, "--key FILE") ||
			!strings.Contains(page, "alice, bob, carol") {
			t.Errorf("the page of signers: %s", page)
		}
		shown, err := a.ReviewWithoutRecords(t.Context(), r.StudyPlan.Hash)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"alice", "bob", "mallory"} {
			if code, text := s.post("/study/"+r.StudyPlan.Hash.String()+"/approve",
				url.Values{"name": {name},
					"shown": {shown.DeclarationDigest}}, nil); code != http.StatusConflict {
				t.Errorf("%s approves without a key: %d %s", name, code, text)
			}
		}
		if _, err := a.Approve(t.Context(), "illness",
			desk.Approver{Name: "alice", Key: keys["alice"],
				DeclarationDigest: shown.DeclarationDigest}); err != nil {
			t.Fatal(err)
		}
		if _, page := s.get("/study/" + r.StudyPlan.Hash.String()); !strings.Contains(page,
			"besides alice") {
			t.Errorf("after one of two: %s", page)
		}
	})
	t.Run("no", func(t *testing.T) {
		r := newSite(t, nil)
		a := ask(t, r)
		s := sit(t, a)
		at := "/study/" + r.StudyPlan.Hash.String()
		_, page := s.get(at)
		const why = "the board meets in May"
		if code, text := s.post(at+"/refuse", url.Values{"name": {"bob"}, "reason": {why}},
			nil); code != http.StatusOK || !strings.Contains(text, "refused by bob") ||
			strings.Contains(text, "<form class") {
			t.Errorf("refuse: %d %s", code, text)
		}
		if code, _ := s.post(at+"/approve", url.Values{"name": {"alice"}, "shown": {shownOn(page)}},
			nil); code != http.StatusConflict {
			t.Errorf("approved after a no: %d", code)
		}
		if strings.Contains(r.Log.String(), why) {
			t.Errorf("the log says %s", r.Log)
		}
	})
	t.Run("none", func(t *testing.T) {
		s := sit(t, ask(t, newSite(t, nil)))
		for _, path := range []string{"/study/" + strings.Repeat("0", 64), "/study/illness",
			"/study/..%2f..%2fidentity.yaml", "/metrics", "/other"} {
			if code, text := s.get(path); code != http.StatusNotFound {
				t.Errorf("%s: %d %s", path, code, text)
			}
		}
	})
}

func newKey(t *testing.T) *protocol.Signer {
	t.Helper()
	k, err := protocol.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// twoPersons makes a site whose policy requires two of alice, bob and carol.
func twoPersons(t *testing.T) (*testsite.Site, map[string]*protocol.Signer) {
	r := newSite(t, nil)
	keys := map[string]*protocol.Signer{"alice": newKey(t), "bob": newKey(t), "carol": newKey(t)}
	r.Config.Policy.Approval, r.Config.Policy.Approvers = policy.ApproveByTwo,
		map[string]protocol.SignerKey{}
	for name, k := range keys {
		r.Config.Policy.Approvers[name] = k.Key()
	}
	return r, keys
}
