package watch

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"caucus/coordinator/records"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

// collector reads the coordinator's state from snapshots when Prometheus asks. It waits for no
// fold.
type collector struct{ server *WatchedParts }

var (
	membersMetric = prometheus.NewDesc("caucus_members", "Parties and operators.",
		[]string{"role", "status"}, nil)
	studiesMetric = prometheus.NewDesc("caucus_studies", "Studies by state.", []string{"state"},
		nil)
	deadlineMetric = prometheus.NewDesc("caucus_next_deadline_seconds", "Time to the next deadline of an open study; not there where none is open.", nil, nil)
	awaitedMetric  = prometheus.NewDesc("caucus_contributions_awaited",
		"Contributions that open studies still wait for.", nil, nil)
	uploadsMetric = prometheus.NewDesc("caucus_uploads_under_way",
		"Contributions and pools in memory.", nil, nil)
	spentMetric = prometheus.NewDesc("caucus_budget_spent_epsilon", "What this coordinator's own ledger has spent at a unit, at the budget's delta.", []string{"unit"}, nil)
	limitMetric = prometheus.NewDesc("caucus_budget_epsilon", "What it may spend at a unit.",
		[]string{"unit"}, nil)
	ledgerMetric  = prometheus.NewDesc("caucus_ledger_behind", "1 where the ledger is behind what was published, so that nothing is released.", nil, nil)
	clockMetric   = prometheus.NewDesc("caucus_clock_doubted", "1 where the clock is not believed, so that no deadline is over by it.", nil, nil)
	damagedMetric = prometheus.NewDesc("caucus_files_damaged", "1 where a file of this coordinator was found damaged.", nil, nil)
	freeMetric    = prometheus.NewDesc("caucus_disk_free_bytes",
		"Room on the volume of the coordinator's folder.", nil, nil)
	helperMetric  = prometheus.NewDesc("caucus_helper_out_of_reach", "1 where the helper does not answer what it is asked; not there where none is named.", nil, nil)
	expiryMetric  = prometheus.NewDesc("caucus_certificate_expiry_seconds", "Time until the certificate that ends first is over: the authority's, or an enrolled member's newest.", []string{"whose"}, nil)
	unknownMetric = prometheus.NewDesc("caucus_standing_unknown", "1 where the store or the ledger could not be read for these metrics.", nil, nil)
)

func (c collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{membersMetric, studiesMetric, deadlineMetric,
		awaitedMetric, uploadsMetric, spentMetric, limitMetric, ledgerMetric, clockMetric,
		damagedMetric, freeMetric, helperMetric, expiryMetric, unknownMetric} {
		out <- d
	}
}

func (c collector) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	flag := func(d *prometheus.Desc, is bool) {
		v := 0.0
		if is {
			v = 1
		}
		gauge(d, v)
	}
	ctx, stop := context.WithTimeout(context.Background(), lookTime)
	defer stop()
	is := c.server.Health()
	now := is.Now
	flag(ledgerMetric, is.LedgerBehind)
	flag(clockMetric, is.ClockDoubt != nil)
	flag(damagedMetric, is.StoreDamaged)
	if free, err := c.server.Config.FreeBytes(); err == nil {
		gauge(freeMetric, float64(free))
	}
	if is.HasHelper {
		flag(helperMetric, !is.HelperSilentSince.IsZero())
	}
	gauge(uploadsMetric, float64(is.Uploads))
	gauge(expiryMetric, c.server.AuthorityEnds.Sub(now).Seconds(), "authority")

	err := c.members(ctx, now, gauge)
	if err == nil {
		err = c.studies(ctx, now, gauge)
	}
	if err == nil {
		err = c.budget(ctx, gauge)
	}
	flag(unknownMetric, err != nil)
}

const lookTime = 5 * time.Second

type gauges func(d *prometheus.Desc, v float64, labels ...string)

func (c collector) members(ctx context.Context, now time.Time, gauge gauges) error {
	var all []admin.Member
	err := c.server.Store.View(ctx, func(tx records.Tx) (err error) {
		all, err = tx.Members(now)
		return err
	})
	if err != nil {
		return err
	}
	type kind struct{ role, status string }
	count := map[kind]float64{}
	for _, status := range admin.Statuses() {
		// so that an alert always finds the series
		count[kind{string(protocol.RoleParty), status}] = 0
	}
	var first time.Time
	for _, m := range all {
		count[kind{string(m.Role), m.Status}]++
		if m.Status == admin.StatusEnrolled && (first.IsZero() || m.Expires.Before(first)) {
			first = m.Expires
		}
	}
	for k, n := range count {
		gauge(membersMetric, n, k.role, k.status)
	}
	if !first.IsZero() {
		gauge(expiryMetric, first.Sub(now).Seconds(), "member")
	}
	return nil
}

func (c collector) studies(ctx context.Context, now time.Time, gauge gauges) error {
	count := map[study.State]float64{}
	for _, state := range study.States() {
		count[state] = 0
	}
	var next time.Time
	awaited := 0
	all, err := c.server.Studies(ctx)
	if err != nil {
		return err
	}
	for _, summary := range all {
		count[study.State(summary.State)]++
		if study.State(summary.State) == study.Open {
			awaited += int(summary.Roster) - int(summary.Contributed)
			if d := time.UnixMilli(summary.DeadlineUnixMillis); next.IsZero() || d.Before(next) {
				next = d
			}
		}
	}
	for state, n := range count {
		gauge(studiesMetric, n, string(state))
	}
	gauge(awaitedMetric, float64(awaited))
	if !next.IsZero() {
		gauge(deadlineMetric, next.Sub(now).Seconds())
	}
	return nil
}

func (c collector) budget(ctx context.Context, gauge gauges) error {
	spent, err := c.server.Ledger.Totals(ctx)
	if err != nil {
		return err
	}
	for _, u := range privacy.Units() {
		if most, limited := c.server.Config.Budget[u]; limited {
			gauge(spentMetric, spent[u].Epsilon(most.Delta), u.String())
			gauge(limitMetric, most.Epsilon, u.String())
		}
	}
	return nil
}
