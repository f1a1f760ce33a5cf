package privacy

import "sync"

// period is a stretch of a ledger, such as a year: the charges from its begin to the next period's
// begin. The ledger reads no clock. Its owner begins a period by an entry in the chain, so the date
// of a charge is as durable, and as hard to change, as the charge.
//
// Proof note. The same filters hold a period's limit (ε,δ) as the ledger's (see rules), started
// from zero where the period begins. A filter is valid for adaptively chosen charges given any
// past, so the releases of one period together are (ε,δ), wherever it begins. Periods begin only in
// the order of their names, which is checked inside the exclusive transaction: setting back a clock
// begins nothing and gives nothing back.
//
// Reconcile charges to the current period. The entry that began the next period may be among the
// lost ones, so the same charge also counts to a period that begins right after it.
type period struct {
	mu     sync.Mutex // guards all fields below; locked only inside a journal's transaction
	upTo   int64      // number of the last entry that was read
	name   string     // the last period that an entry up to upTo begins, "" if none
	before Totals     // spent before that period
	last   []byte     // totals of the last entry
	// totals before the trailing reconciliations; nil if the last entry is no reconciliation
	held []byte
}

func (p *period) find(tx Tx) error {
	const page = 256
	if p.before == nil {
		p.before = NewTotals()
	}
	for {
		entries, err := tx.EntriesAfter(p.upTo, page)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Kind == KindPeriod {
				if p.name != "" { // what came before the first period counts to it
					before := e.Totals
					if p.held != nil {
						before = p.held
					}
					if p.before, err = decodeTotals(before); err != nil {
						return err
					}
				}
				p.name = e.ID[len(periodID):]
			}
			switch {
			case e.Kind != KindReconcile:
				p.held = nil
			case p.held == nil:
				p.held = p.last
			}
			p.last, p.upTo = e.Totals, e.Sequence
		}
		if len(entries) < page {
			return nil
		}
	}
}
