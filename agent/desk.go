package agent

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"caucus/internal/textpage"
	"caucus/internal/webpage"
	"caucus/privacy"
	"caucus/study"
)

//go:embed desk.html
var deskText string

// desk is the page on which a site's own person reads what is asked of the site, and
// says yes or no.
//
//   - It is the command line's verbs in another place, as if in another process: it opens
//     the state folder once more and calls Studies, Preview, Approve and Refuse. There is no
//     second way to an approval, and what policy and ledger refuse no page allows.
//   - Yes is to what was shown: the form carries the plan's hash and the whole digest of
//     the source's declaration (Review.Shown), and without them, or where either is another
//     by now, nothing is approved.
//   - Where the policy names approvers, each signs with a key of their own, which no
//     daemon should hold: the page says what to type instead.
//   - Records are read where the person asks to see them, and for the review that
//     Approve ends with: the list and a study's page read none.
//   - Whoever holds a link may write in the state folder: webpage says who that is.
type desk struct {
	guard     *webpage.Guard
	templates *template.Template

	under context.Context // of decisions: it ends with the desk, not with a tab
	stop  context.CancelFunc
	grace time.Duration // how long the desk's end waits for a file that is being read

	mu    sync.Mutex // guards agent: one request at a time
	agent *Agent
}

// deskGrace is how long an agent that was told to stop waits for a file that a person
// looks at: a network's disk may take for ever.
const deskGrace = 3 * time.Second

// deskLasts is how long a person may decide before a new link.
const deskLasts = time.Hour

// sawRecords is how long reading the records for a person may take.
const sawRecords = 10 * time.Minute

// newDesk opens the state folder once more.
func (a *Agent) newDesk() (*desk, error) {
	templates, err := webpage.Templates(deskText)
	if err != nil {
		return nil, fmt.Errorf("read the page's templates: %w", err)
	}
	own, err := newAgent(a.state.config, a.id, a.state.party, a.dial)
	if err != nil {
		return nil, err
	}
	c := a.state.config
	under, stop := context.WithCancel(context.Background())
	return &desk{
		templates: templates, agent: own, under: under, stop: stop, grace: deskGrace,
		guard: &webpage.Guard{Dir: c.State, Command: "caucus agent page --config FILE", Lasts: deskLasts, Clock: c.Clock, Log: a.log},
	}, nil
}

func (d *desk) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", d.load(d.list))
	mux.HandleFunc("GET /study/{hash}", d.load(d.one))
	mux.HandleFunc("POST /study/{hash}/approve", d.decide(func(ctx context.Context, r *http.Request, h string) error {
		shown := r.PostForm.Get("shown")
		if len(shown) != 2*len(privacy.Digest{}) {
			return errors.New("the form does not say what was shown: open the study's page again")
		}
		_, err := d.agent.Approve(ctx, h, Approver{Name: r.PostForm.Get("name"), Shown: shown, Through: "the agent's page"})
		return err
	}))
	mux.HandleFunc("POST /study/{hash}/refuse", d.decide(func(ctx context.Context, r *http.Request, h string) error {
		_, err := d.agent.Refuse(ctx, h, Approver{Name: r.PostForm.Get("name"), Through: "the agent's page"}, r.PostForm.Get("reason"))
		return err
	}))
	return d.guard.Protect(mux)
}

// errNoStudy: nothing here has this hash.
var errNoStudy = errors.New("no such study")

// load answers with what make wrote, whole, or with a word about why not.
func (d *desk) load(make func(ctx context.Context, r *http.Request, to *bytes.Buffer) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, stop := patient(w, r)
		defer stop()
		var text bytes.Buffer
		d.mu.Lock()
		err := make(ctx, r, &text)
		d.mu.Unlock()
		switch {
		case errors.Is(err, errNoStudy):
			webpage.Say(w, http.StatusNotFound, "There is no such study here", "It may be of another agent, or gone with an older state folder.")
		case err != nil:
			webpage.Say(w, http.StatusInternalServerError, "The page could not be made", textpage.Printable(err.Error()))
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(text.Bytes()) // who went away is told nothing
		}
	}
}

// mostForm bounds a form: a name, a digest, a reason.
const mostForm = 16 << 10

// decide carries out what a person decided about the study of the path, and shows it.
func (d *desk) decide(do func(ctx context.Context, r *http.Request, h string) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, mostForm)
		if err := r.ParseForm(); err != nil {
			webpage.Say(w, http.StatusBadRequest, "The form could not be read", "Open the study's page again.")
			return
		}
		var h study.Hash
		if h.UnmarshalText([]byte(r.PathValue("hash"))) != nil {
			webpage.Say(w, http.StatusNotFound, "There is no such study here", "A study is named by its plan's whole hash.")
			return
		}
		if r.PostForm.Get("name") == "" {
			webpage.Say(w, http.StatusBadRequest, "Nothing was decided", "Say who you are: go back and write your name.")
			return
		}
		_, done := patient(w, r)
		defer done()
		ctx, stop := context.WithTimeout(d.under, sawRecords) // whoever closes the tab now has decided
		defer stop()
		d.mu.Lock()
		err := do(ctx, r, h.String())
		d.mu.Unlock()
		if err != nil {
			webpage.Say(w, http.StatusConflict, "Nothing was decided", textpage.Printable(err.Error())+".")
			return
		}
		http.Redirect(w, r, webpage.Base(r)+"/study/"+h.String(), http.StatusSeeOther)
	}
}

// patient lets a request take as long as records take to be read.
func patient(w http.ResponseWriter, r *http.Request) (context.Context, context.CancelFunc) {
	c := http.NewResponseController(w)
	var none time.Time
	_, _ = c.SetReadDeadline(none), c.SetWriteDeadline(none) // where they cannot be moved they hold
	return context.WithTimeout(r.Context(), sawRecords)
}

func (d *desk) top(r *http.Request, title string) webpage.Top {
	return webpage.Top{
		Title: title, Base: webpage.Base(r), Of: "Agent of " + string(d.agent.Party()),
		About: "As of " + d.agent.now().UTC().Format("15:04:05 MST") + ". Load it again to see what changed.",
	}
}

// deskStudy is a study of the list.
type deskStudy struct {
	Review
	Hash, Class string
}

// deskBudget is a limit of the site.
type deskBudget struct{ Unit, When, Spent, Limit, Delta string }

// order puts what waits for a person first, and what is over last.
var deskOrder = []Progress{ProgressWaiting, ProgressUndeclared, ProgressHelper, ProgressReady, ProgressPreparing, ProgressPrepared, ProgressReceived, ProgressReleased, ProgressRefused, ProgressDeclined, ProgressClosed}

func (d *desk) list(ctx context.Context, r *http.Request, to *bytes.Buffer) error {
	all, _, err := d.agent.Studies(ctx)
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b Review) int {
		return cmp.Compare(slices.Index(deskOrder, a.Progress), slices.Index(deskOrder, b.Progress))
	})
	page := struct {
		Top     webpage.Top
		Waiting int
		// Constants says of how many contributions something was one; "" of none.
		Constants string
		Studies   []deskStudy
		Budgets   []deskBudget
	}{Top: d.top(r, "What is asked of this site")}
	for _, one := range all {
		s := deskStudy{Review: one, Hash: one.Plan.String(), Class: classOf(one.Progress)}
		if one.Progress == ProgressWaiting {
			page.Waiting++
		}
		page.Studies = append(page.Studies, s)
	}
	if made := d.agent.state.checkConstants(); made.Status != StatusOK {
		page.Constants = "Contributions: " + made.Says
	}
	spent, err := d.agent.state.spending(ctx)
	if err != nil {
		return err
	}
	for _, limit := range spent {
		for _, u := range privacy.Units() {
			if most, ok := limit.most[u]; ok {
				page.Budgets = append(page.Budgets, deskBudget{
					Unit: u.String(), When: cmp.Or(limit.year, "all time"), Spent: show(finite(limit.spent[u].Epsilon(most.Delta))), Limit: fmt.Sprintf("%g", most.Epsilon), Delta: fmt.Sprintf("%g", most.Delta),
				})
			}
		}
	}
	return d.templates.ExecuteTemplate(to, "list", page)
}

func (d *desk) one(ctx context.Context, r *http.Request, to *bytes.Buffer) error {
	var h study.Hash
	if h.UnmarshalText([]byte(r.PathValue("hash"))) != nil || !d.agent.state.studies.of(h).has(filePlan) {
		return errNoStudy
	}
	records := r.URL.Query().Get("records") != ""
	var review Review
	var err error
	if records {
		review, _, err = d.agent.Preview(ctx, h.String())
	} else {
		review, err = d.agent.state.outline(ctx, h)
	}
	if err != nil {
		return err
	}
	policy := d.agent.state.config.Policy
	undecided := review.Refused == "" && review.Closed == "" && !slices.Contains([]Progress{ProgressReceived, ProgressReleased}, review.Progress)
	page := struct {
		Top         webpage.Top
		Hash, Class string
		Review      Review
		Lines       []textpage.Line
		Records     bool
		// Approve: a form for it; Signers instead: who signs, by the command line.
		Approve, Refuse bool
		Signers         string
		Release         string
	}{
		Top: d.top(r, textpage.Printable(review.Study)), Hash: h.String(), Class: classOf(review.Progress), Review: review, Lines: review.page(), Records: records,
		Approve: undecided && review.Allowed && review.NeedsPerson && !review.Approved && review.Shown != "", Refuse: undecided,
	}
	if len(policy.Approvers) > 0 {
		page.Signers = strings.Join(approverNames(policy.Approvers), ", ")
	}
	if review.Progress == ProgressReleased {
		page.Release = filepath.Join(d.agent.state.studies.of(h).dir, fileRelease)
	}
	return d.templates.ExecuteTemplate(to, "study", page)
}

// classOf is how a progress looks.
func classOf(p Progress) string {
	switch p {
	case ProgressReleased, ProgressReceived:
		return "released"
	case ProgressRefused, ProgressDeclined:
		return "failed"
	case ProgressClosed:
		return ""
	}
	return "open"
}

// close ends it: what asks the coordinator at once, what reads a file within the grace.
// A reading that takes longer is left to its end: it changes nothing.
func (d *desk) close() {
	d.stop()
	over, stop := d.agent.clock.After(d.grace)
	defer stop()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		d.mu.Lock()
		defer d.mu.Unlock()
		_ = d.agent.Close() // it sent nothing
	}()
	select {
	case <-closed:
	case <-over:
		d.agent.log.Warn("a file that somebody looks at on the page is still being read: the agent stops without waiting for it")
	}
}
