package desk

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"caucus/agent/health"
	"caucus/agent/site"
	"caucus/internal/textpage"
	"caucus/internal/webpage"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

//go:embed page.html
var deskText string

// Page is the web page on which a person of the site reads what studies ask, and approves or
// refuses.
//
//   - It works like another process that runs the commands: it opens the state folder once more and
//     calls Studies, Preview, Approve and Refuse. There is no second way to an approval, and the
//     page allows nothing that policy and ledger refuse.
//   - An approval covers what was shown. The form carries the plan's hash and the whole digest of
//     the source's declaration (Review.DeclarationDigest). If either is missing or has changed,
//     nothing is approved.
//   - If the policy names approvers, each signs with their own key, which no daemon should hold.
//     The page then shows the command to type instead.
//   - Records are read when the person asks to see them, and for the review after an approval. The
//     list and a study's page read none.
//   - The holder of a link may write in the state folder. Package webpage says who can get a link.
type Page struct {
	guard     *webpage.Guard
	templates *template.Template

	// the context of decisions; it ends with the page, not when a browser tab is closed
	under context.Context
	stop  context.CancelFunc
	grace time.Duration // how long Close waits for a file that is being read

	log  *slog.Logger
	end  func() error
	mu   sync.Mutex // guards desk, which serves one request at a time
	desk *Desk
}

// deskGrace bounds how long a stopping agent waits for a file, because a network disk may take
// forever.
const deskGrace = 3 * time.Second

// deskLasts is the lifetime of a session.
const deskLasts = time.Hour

// sawRecords bounds the time to read records for a person.
const sawRecords = 10 * time.Minute

// NewPage makes the page, which owns its desk. end closes that desk's state folder.
func NewPage(own *Desk, end func() error, log *slog.Logger) (*Page, error) {
	templates, err := webpage.Templates(deskText)
	if err != nil {
		return nil, fmt.Errorf("read the page's templates: %w", err)
	}
	c := own.site.Config
	under, stop := context.WithCancel(context.Background())
	return &Page{
		templates: templates, desk: own, end: end, log: log, under: under, stop: stop, grace: deskGrace,
		guard: &webpage.Guard{Dir: c.State, Command: c.WithVerbNames("caucus agent page --config FILE"), SessionLifetime: deskLasts, Clock: c.Clock, Log: log},
	}, nil
}

// Handler serves the list, a study's page, and forms to approve or refuse, for holders of a link
// alone. A form names what was shown, so that a decision never covers another declaration.
func (p *Page) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.load(p.list))
	mux.HandleFunc("GET /study/{hash}", p.load(p.one))
	mux.HandleFunc("POST /study/{hash}/approve",
		p.decide(func(ctx context.Context, r *http.Request, h string) error {
			shown := r.PostForm.Get("shown")
			if len(shown) != 2*len(privacy.Digest{}) {
				return errors.New("the form does not say what was shown: open the study's page again")
			}
			_, err := p.desk.Approve(ctx, h,
				Approver{Name: r.PostForm.Get("name"), DeclarationDigest: shown,
					Program: "the agent's page"})
			return err
		}))
	mux.HandleFunc("POST /study/{hash}/refuse",
		p.decide(func(ctx context.Context, r *http.Request, h string) error {
			_, err := p.desk.Refuse(ctx, h,
				Approver{Name: r.PostForm.Get("name"),
					Program: "the agent's page"}, r.PostForm.Get("reason"))
			return err
		}))
	return p.guard.Protect(mux)
}

var errNoStudy = errors.New("no such study")

// load answers with the text that the function make wrote, or with its error.
func (p *Page) load(make func(ctx context.Context, r *http.Request,
	to *bytes.Buffer) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, stop := patient(w, r)
		defer stop()
		var text bytes.Buffer
		p.mu.Lock()
		err := make(ctx, r, &text)
		p.mu.Unlock()
		switch {
		case errors.Is(err, errNoStudy):
			webpage.WriteMessage(w, http.StatusNotFound, "There is no such study here", "It may be of another agent, or gone with an older state folder.")
		case err != nil:
			webpage.WriteMessage(w, http.StatusInternalServerError, "The page could not be made",
				textpage.Printable(err.Error()))
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w,
				// a client that went away gets nothing
				p.desk.site.Config.WithVerbNames(text.String()))
		}
	}
}

// mostForm bounds the bytes of a form, which has a name, a digest and a reason.
const mostForm = 16 << 10

// filled is a form as a person sent it, and why nothing was decided.
type filled struct{ Name, Reason, Problem string }

// decide carries out a person's decision about the study in the request's path, and redirects to
// the study's page. If nothing was decided, it shows that page, with why and the form as it was
// filled in.
func (p *Page) decide(
	do func(ctx context.Context, r *http.Request, h string) error,
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, mostForm)
		if err := r.ParseForm(); err != nil {
			webpage.WriteMessage(w, http.StatusBadRequest, "The form could not be read",
				"Open the study's page again.")
			return
		}
		var h study.Hash
		if h.UnmarshalText([]byte(r.PathValue("hash"))) != nil {
			webpage.WriteMessage(w, http.StatusNotFound, "There is no such study here",
				"A study is named by its plan's whole hash.")
			return
		}
		_, done := patient(w, r)
		defer done()
		// closing the tab now does not undo the decision
		ctx, stop := context.WithTimeout(p.under, sawRecords)
		defer stop()
		var text bytes.Buffer
		var problem string
		var unmade error
		p.mu.Lock()
		err := errors.New("say who you are: write your name")
		if strings.TrimSpace(r.PostForm.Get("name")) != "" {
			err = do(ctx, r, h.String())
		}
		if err != nil {
			problem = textpage.Printable(err.Error())
			again := filled{r.PostForm.Get("name"), r.PostForm.Get("reason"), problem}
			unmade = p.study(ctx, r, h, again, &text)
		}
		p.mu.Unlock()
		switch {
		case err == nil:
			http.Redirect(w, r, webpage.LinkBase(r)+"/study/"+h.String(), http.StatusSeeOther)
		case unmade != nil:
			webpage.WriteMessage(w, http.StatusConflict, "Nothing was decided", problem+".")
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w,
				// a client that went away gets nothing
				p.desk.site.Config.WithVerbNames(text.String()))
		}
	}
}

// patient extends a request's deadlines to the time that reading records may take.
func patient(w http.ResponseWriter, r *http.Request) (context.Context, context.CancelFunc) {
	c := http.NewResponseController(w)
	var none time.Time
	// deadlines that cannot be moved stay as they are
	_, _ = c.SetReadDeadline(none), c.SetWriteDeadline(none)
	return context.WithTimeout(r.Context(), sawRecords)
}

func (p *Page) top(r *http.Request, title string) webpage.Top {
	return webpage.Top{
		Title: title, Base: webpage.LinkBase(r), Of: "Agent of " + string(p.desk.site.Party),
		About: "As of " + p.desk.site.Config.Now().UTC().Format("15:04:05 MST") + ". Load it again to see what changed.",
	}
}

type deskStudy struct {
	Review
	Hash, Class string
}

type deskBudget struct{ Unit, When, Spent, Limit, Delta string }

// deskOrder lists studies that wait for a person first, and finished studies last.
var deskOrder = []Progress{ProgressWaiting, ProgressUndeclared, ProgressAwaitsHelper, ProgressReady,
	ProgressPreparing, ProgressPrepared, ProgressReceived, ProgressReleased, ProgressRefused,
	ProgressDeclined, ProgressClosed}

func (p *Page) list(ctx context.Context, r *http.Request, to *bytes.Buffer) error {
	all, _, err := p.desk.Studies(ctx)
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b Review) int {
		return cmp.Compare(slices.Index(deskOrder, a.Progress), slices.Index(deskOrder, b.Progress))
	})
	page := struct {
		Top     webpage.Top
		Waiting int
		// Constants says in how many contributions a constant replaced all or a part; "" for none.
		Constants string
		Studies   []deskStudy
		Budgets   []deskBudget
	}{Top: p.top(r, "What is asked of this site")}
	for _, one := range all {
		s := deskStudy{Review: one, Hash: one.Plan.String(), Class: classOf(one.Progress)}
		if one.Progress == ProgressWaiting {
			page.Waiting++
		}
		page.Studies = append(page.Studies, s)
	}
	if made := health.CheckReplacedContributions(p.desk.site); made.Status != health.OK {
		page.Constants = "Contributions: " + made.Text
	}
	spent, err := p.desk.site.Spending(ctx)
	if err != nil {
		return err
	}
	for _, limit := range spent {
		for _, u := range privacy.Units() {
			if most, ok := limit.Most[u]; ok {
				page.Budgets = append(page.Budgets, deskBudget{
					Unit: u.String(), When: cmp.Or(limit.Year, "all time"), Spent: show(finite(limit.Spent[u].Epsilon(most.Delta))), Limit: fmt.Sprintf("%g", most.Epsilon), Delta: fmt.Sprintf("%g", most.Delta),
				})
			}
		}
	}
	return p.templates.ExecuteTemplate(to, "list", page)
}

func (p *Page) one(ctx context.Context, r *http.Request, to *bytes.Buffer) error {
	var h study.Hash
	if h.UnmarshalText([]byte(r.PathValue("hash"))) != nil ||
		!p.desk.site.Studies.Folder(h).Has(site.FilePlan) {
		return errNoStudy
	}
	return p.study(ctx, r, h, filled{}, to)
}

// study writes a study's page, with a form that was filled in before.
func (p *Page) study(
	ctx context.Context, r *http.Request, h study.Hash, form filled, to *bytes.Buffer,
) error {
	records := r.URL.Query().Get("records") != ""
	var review Review
	var err error
	if records {
		review, _, err = p.desk.Preview(ctx, h.String())
	} else {
		review, err = p.desk.ReviewWithoutRecords(ctx, h)
	}
	if err != nil {
		return err
	}
	allowed := p.desk.site.Config.Policy
	undecided := review.RefusedBy == "" && review.ClosedReason == "" &&
		!slices.Contains([]Progress{ProgressReceived, ProgressReleased}, review.Progress)
	page := struct {
		Top         webpage.Top
		Form        filled
		Rule        string // for a person's name
		Hash, Class string
		Review      Review
		Lines       []textpage.Line
		Records     bool
		// Approve shows the form. Signers are the people who approve by command instead, each with
		// a key.
		Approve, Refuse bool
		Signers         string
		Release         string
	}{
		Form: form, Rule: protocol.PersonNameRule,
		Top: p.top(r, textpage.Printable(review.Study)), Hash: h.String(), Class: classOf(review.Progress), Review: review, Lines: review.page(), Records: records,
		Approve: undecided && review.Allowed && review.NeedsPerson && !review.Approved && review.DeclarationDigest != "", Refuse: undecided,
	}
	if len(allowed.Approvers) > 0 {
		page.Signers = strings.Join(allowed.ApproverNames(), ", ")
	}
	if review.Progress == ProgressReleased {
		page.Release = filepath.Join(p.desk.site.Studies.Folder(h).Dir, site.FileRelease)
	}
	return p.templates.ExecuteTemplate(to, "study", page)
}

// classOf is a progress's CSS class.
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

// Close ends requests to the coordinator at once. It waits up to grace for a file that is being
// read. The reading may go on after that, because it changes nothing.
func (p *Page) Close() {
	p.stop()
	over, stop := p.desk.site.Config.Clock.After(p.grace)
	defer stop()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		p.mu.Lock()
		defer p.mu.Unlock()
		_ = p.end() // nothing was sent, so the error does not matter
	}()
	select {
	case <-closed:
	case <-over:
		p.log.Warn("a file that somebody looks at on the page is still being read: the agent stops without waiting for it")
	}
}
