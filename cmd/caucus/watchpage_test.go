package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/analyst/terms"
	"caucus/coordinator/folder"
	"caucus/dataset"
	"caucus/internal/testlevel"
	"caucus/internal/testpages"
	"caucus/internal/webpage"
	"caucus/privacy"
	"caucus/study"
)

// Checks of a page that a daemon serves.
var daemonLooks = []testpages.View{{Name: "phone", Width: 390, Scheme: "light", Media: "screen"},
	{Name: "phone-dark", Width: 390, Scheme: "dark", Media: "screen"},
	{Name: "desk-dark", Width: 1280, Scheme: "dark", Media: "screen"},
	{Name: "desk", Width: 1280, Scheme: "light", Media: "screen"}}

// keyboard presses Tab until the focus is back at the start. It checks that Tab reaches every
// control, and that each has a name and a visible focus.
func keyboard(t *testing.T, ctx context.Context) {
	t.Helper()
	const here = `(() => { const all = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary")]; const e = document.activeElement;
		return {at: all.indexOf(e), of: all.length, name: e ? (e.textContent.trim() || (e.labels && e.labels.length && e.labels[0].textContent) || "") : "", outline: e ? getComputedStyle(e).outlineStyle : ""}; })()`
	type place struct {
		At      int    `json:"at"`
		Of      int    `json:"of"`
		Name    string `json:"name"`
		Outline string `json:"outline"`
	}
	seen, of := map[int]bool{}, 0
	for range 200 {
		if err := chromedp.Do(ctx, chromedp.KeyEvent("\t")); err != nil {
			t.Fatal(err)
		}
		p, err := chromedp.Run(ctx, chromedp.Evaluate[place](here))
		if err != nil {
			t.Fatal(err)
		}
		if of = p.Of; p.At < 0 || seen[p.At] {
			break
		}
		if p.Name == "" || p.Outline == "none" {
			t.Errorf("control %d has name %q and outline %s where it has the focus", p.At, p.Name, p.Outline)
		}
		seen[p.At] = true
	}
	if len(seen) != of || of == 0 {
		t.Errorf("Tab comes to %d of %d controls", len(seen), of)
	}
}

// TestCoordinatorPage: while a study runs, the coordinator's page shows the same as its verbs, in a
// browser, on phone and desktop, light and dark, by keyboard. The page follows by itself as
// contributions arrive.
func TestCoordinatorPage(t *testing.T) {
	port, err := testlevel.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	limit := map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 20, Delta: 1e-5},
		privacy.Party: {Epsilon: 20, Delta: 1e-5}}
	directory := ""
	n := newNetwork(t, func(c *folder.Config) {
		c.Limits.Rate, c.Limits.Burst = 1e4, 10000
		directory, c.Page, c.Report = c.Dir, "127.0.0.1:"+port, writeReport
		c.Budget = map[privacy.Unit]privacy.Budget{privacy.Party: {Epsilon: 8, Delta: 1e-5}}
	})
	defer http.DefaultClient.CloseIdleConnections()
	browser := testpages.Browse(t)
	var roster []study.PartyID
	var configs []site.Config
	for _, name := range []string{"hospital-a", "hospital-b", "hospital-c", "hospital-d"} {
		c := n.enrol(name)
		c.Policy.Mechanisms, c.Policy.Noise = []string{"cross",
			"means"}, []study.Noise{study.NoiseSite, study.NoiseCoordinator}
		c.Policy.StudyLimit, c.Policy.TotalLimit = limit,
			map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 20, Delta: 1e-5}}
		roster, configs = append(roster, study.PartyID(name)), append(configs, c)
	}
	for _, c := range configs[:2] {
		n.run(c)
	}
	configs[2].Policy.Approval = policy.ApproveByPerson
	var charged []study.Hash
	// the coordinator's ledger is charged for these
	for _, name := range []string{"first", "second", "third"} {
		s := terms.Study{Schema: filepath.Join(n.dir, "schema.yaml"),
			Pool: filepath.Join(n.dir, "pool.csv")}
		s.Proposal = study.Proposal{
			Name: name, Purpose: "who stays longer", Contact: "ward@example.org", Map: dataset.Components{Project: 4}, Roster: roster[:2], Minimum: 2, Deadline: time.Now().Add(time.Hour),
			Unit: privacy.Party, Mechanism: "means", Epsilon: 2, Records: 70,
		}
		made, err := propose(quiet(), s)
		n.check(err)
		n.start(made)
		charged = append(charged, made.Hash)
	}
	for _, h := range charged {
		n.wait(h)
	}
	n.open("given-up", 2, roster[:2]...)
	_, err = n.operator.CancelStudy(n.ctx, "given-up", "the board said no")
	n.check(err)
	h := n.open("readmission", 3, roster...)

	link, err := webpage.NewLink(directory, "127.0.0.1:"+port, time.Now())
	n.check(err)
	n.check(chromedp.Do(browser, chromedp.Navigate(link)))
	at := func() string {
		url, err := chromedp.Run(browser, chromedp.Location())
		n.check(err)
		return url
	}
	text := func() string {
		all, err := chromedp.Run(browser,
			chromedp.Evaluate[string]("document.body ? document.body.innerText : ''"))
		if err != nil {
			return "" // the page is loading
		}
		return all
	}
	base := at()
	if strings.Contains(base, "link=") || !strings.Contains(base, "/at/") {
		t.Fatalf("a link leads to %s: %s", base, text())
	}
	// The third party contributes; the page must follow without a reload.
	until := func(what string) {
		t.Helper()
		for !strings.Contains(text(), what) {
			if n.ctx.Err() != nil {
				t.Fatalf("the page never says %q:\n%s", what, text())
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	until("2 of 4 have contributed")
	n.run(configs[2])
	until("readmission: a person there has to approve it")
	for _, says := range []string{"What this coordinator does", "open", "released", "failed",
		"the board said no", "4 enrolled", "not since the coordinator started", "operator",
		"spent ε", "3 charges"} {
		if !strings.Contains(text(), says) {
			t.Errorf("the page does not say %q:\n%s", says, text())
		}
	}
	pages := map[string]string{"watch": base, "study": base + "study/" + h.String()}
	first, err := n.operator.Study(n.ctx, "third")
	n.check(err)
	pages["report"] = base + "study/" + first.Hash.String() + "/report"
	failed, err := n.operator.Study(n.ctx, "given-up")
	n.check(err)
	pages["failed"] = base + "study/" + failed.Hash.String()
	for name, url := range pages {
		for _, as := range testlevel.Of(t, daemonLooks, 2) {
			testpages.CheckLayout(t, browser, url+"?still=1", "coordinator-"+name, as)
		}
		if name != "report" { // the report's only control is the link past its head
			keyboard(t, browser)
		}
		if style, err := chromedp.Run(browser,
			chromedp.Evaluate[string]("getComputedStyle(document.body).maxWidth")); err != nil ||
			style != "832px" {
			t.Errorf("%s: our style does not hold: %s, %v", name, style, err)
		}
	}
	n.check(chromedp.Do(browser, chromedp.Navigate(pages["study"])))
	for _, says := range []string{"hospital-c: a person there has to approve it",
		"hospital-d: has not called", "at least 3 must", "hospital-a", "2 of 4"} {
		if !strings.Contains(text(), says) {
			t.Errorf("the study's page does not say %q:\n%s", says, text())
		}
	}
	n.check(chromedp.Do(browser, chromedp.Navigate(pages["report"])))
	if says := text(); !strings.Contains(says, "Study third: what came out") ||
		!strings.Contains(says, "What is not") {
		t.Errorf("the report: %s", says)
	}
	// Without a link, without its cookie, or with a used link, there is no page.
	for _, url := range []string{base, link, pages["study"], "http://127.0.0.1:" + port + "/"} {
		reply, err := http.Get(url)
		n.check(err)
		body, _ := io.ReadAll(reply.Body)
		reply.Body.Close()
		if reply.StatusCode != http.StatusForbidden || strings.Contains(string(body), "hospital") {
			t.Errorf("%s without a session: %d %s", url, reply.StatusCode, body)
		}
	}
	n.check(chromedp.Do(browser, chromedp.Navigate(base),
		chromedp.Click(chromedp.CSS("nav button"))))
	until("You have left the page")
	n.check(chromedp.Do(browser, chromedp.Navigate(base)))
	until("opens with a link")
	if log := n.log.String(); strings.Contains(log, "link=") ||
		strings.Contains(log, strings.TrimSuffix(base[strings.Index(base, "/at/")+4:], "/")) {
		t.Error("a link or a session is in the log")
	}
}

// TestAgentPage: a person opens a running agent's page in a browser, reads what would leave, and
// approves by keyboard; the study then runs. Forms from other pages, also from another port of this
// machine, have no effect.
func TestAgentPage(t *testing.T) {
	port, err := testlevel.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	n := newNetwork(t, nil)
	browser := testpages.Browse(t)
	a, b := n.enrol("hospital-a"), n.enrol("hospital-b")
	a.Policy.Approval, a.PageAddress = policy.ApproveByPerson, "127.0.0.1:"+port
	yes, no := n.open("readmission", 2, "hospital-a", "hospital-b"), n.open("unwanted", 2,
		"hospital-a", "hospital-b")
	n.run(a)
	n.run(b)
	var link string
	if !until(func() bool { // it serves the page
		link, err = webpage.NewLink(a.State, a.PageAddress, time.Now())
		return err == nil
	}) {
		t.Fatal(err)
	}
	text := func() string {
		all, err := chromedp.Run(browser,
			chromedp.Evaluate[string]("document.body ? document.body.innerText : ''"))
		if err != nil {
			return "" // the page is loading
		}
		return all
	}
	until := func(url, what string) {
		t.Helper()
		for !strings.Contains(text(), what) {
			if n.ctx.Err() != nil {
				t.Fatalf("the page never says %q:\n%s", what, text())
			}
			time.Sleep(100 * time.Millisecond)
			if url != "" {
				n.check(chromedp.Do(browser, chromedp.Navigate(url)))
			}
		}
	}
	for err := error(nil); ; time.Sleep(50 * time.Millisecond) { // until the page listens
		if err = chromedp.Do(browser, chromedp.Navigate(link)); err == nil {
			break
		}
		if n.ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	base, err := chromedp.Run(browser, chromedp.Location())
	n.check(err)
	until(base, "2 studies wait for you")
	study := base + "study/" + yes.String()
	for name, url := range map[string]string{"list": base, "study": study,
		"records": study + "?records=1"} {
		for _, as := range testlevel.Of(t, daemonLooks, 2) {
			testpages.CheckLayout(t, browser, url, "agent-"+name, as)
		}
		keyboard(t, browser)
	}
	// The browser sends the forms of two other pages, one of them at another port; the agent's page
	// refuses both.
	for _, host := range []string{"127.0.0.1", "localhost"} {
		elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
			r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `<form id="f" method="post" action="%sstudy/%s/refuse"><input name="name" value="mallory"></form><iframe src="%s"></iframe><script>document.getElementById("f").submit()</script>`, base, no, base)
		}))
		n.check(chromedp.Do(browser,
			chromedp.Navigate(strings.Replace(elsewhere.URL, "127.0.0.1", host, 1))))
		until("", "This came from elsewhere")
		elsewhere.Close()
	}
	if _, err := os.Stat(filepath.Join(a.State, "studies", no.String(), "refused")); err == nil {
		t.Fatal("another page's form refused a study")
	}
	n.check(chromedp.Do(browser, chromedp.Navigate(study),
		chromedp.SendKeys(chromedp.CSS("form.act input[name=name]"), "alice\r")))
	until("", "approved by alice")
	n.check(chromedp.Do(browser, chromedp.Navigate(base+"study/"+no.String()),
		chromedp.SendKeys(chromedp.CSS("form.act input[name=name]:not([form])"), "alice")))
	n.check(chromedp.Do(browser,
		chromedp.SendKeys(chromedp.CSS("form[action$=refuse] input[name=name]"),
			"bob"), chromedp.SendKeys(chromedp.CSS("input[name=reason]"),
			"the board meets in May"), chromedp.Click(chromedp.CSS("button.no"))))
	until("", "refused by a person")
	if r := n.wait(yes); r.Parties != 2 {
		t.Errorf("%d parties", r.Parties)
	}
	until(study, "The release is here")
	for _, as := range testlevel.Of(t, daemonLooks, 2) {
		testpages.CheckLayout(t, browser, base, "agent-after", as)
	}
	if log := n.log.String(); strings.Contains(log, "link=") ||
		strings.Contains(log, "the board meets") {
		t.Error("a link or a reason is in the log")
	}
}

// TestPageCommands: the command for a link says what is missing.
func TestPageCommands(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	if err := folder.Init(folder.InitOptions{Dir: dir, Address: "127.0.0.1:1",
		Listen: "127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, folder.ConfigFile)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for page, says := range map[string]string{"": "has no page",
		"metrics: 127.0.0.1:9\n": "has no page", "page: 127.0.0.1:0\n": "names no port",
		"page: 127.0.0.1:9\n": "start the daemon first"} {
		if err := os.WriteFile(file, slices.Concat(before, []byte(page)), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, log strings.Builder
		code := Main(context.Background(), []string{"coordinator", "page", "--dir", dir}, &out,
			&log)
		if all := fmt.Sprint(out.String(), log.String()); !strings.Contains(all, says) ||
			code == 0 {
			t.Errorf("%q: %d %s", page, code, all)
		}
	}
}
