package privacy

import "sync"

// A period is a stretch of a ledger, such as a year: what is charged after it
// began and before the next one. The ledger reads no clock; whoever holds it
// says when a period begins, and the entry that says so is in the chain. So the
// date of a charge is as durable, and as hard to change, as the charge.
//
// Proof note. A limit (ε,δ) of a period is held by the same filters as the
// limit of the whole (see rules), started from nothing where the period begins.
// A filter holds for charges that are chosen adaptively, given any past; so the
// releases of one period together are (ε,δ), wherever it begins. Periods only
// follow each other in the order of their names, which is decided inside the
// exclusive transaction: a clock that is put back begins nothing, and gives
// nothing back.
//
// What Reconcile names is charged to the period under way when it is called and,
// because the entry that began the next one may be among what was lost, also to
// a period that begins right after it.
type period struct {
	mu     sync.Mutex // guards all fields below; locked inside a journal's transaction only
	upTo   int64      // entries up to this one were looked at
	name   string     // of the last period among them, "" if none
	before Totals     // what was spent before it
	last   []byte     // totals of the last entry
	held   []byte     // totals before the reconciliations that the last entries are, nil if they are none
}

// find looks at the entries since it last did.
func (p *period) find(tx Tx) error {
	const page = 256
	if p.before == nil {
		p.before = NewTotals()
	}
	for {
		entries, err := tx.After(p.upTo, page)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Kind == KindPeriod {
				if p.name != "" { // what has no date is of the first period
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
