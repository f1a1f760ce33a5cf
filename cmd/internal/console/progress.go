package console

import (
	"cmp"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/mattn/go-isatty"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Progress shows a bar on a terminal, from the first step on. Elsewhere it shows nothing.
type Progress struct {
	on     *os.File // nil if there is no terminal
	Things string   // the words before the numbers; "" means "parties"
	bars   *mpb.Progress
	bar    *mpb.Bar

	records atomic.Int64
}

// NewProgress returns a bar on the console's Err.
func NewProgress(c *Console) *Progress {
	if IsTerminal(c.Err) {
		return &Progress{on: c.Err.(*os.File)}
	}
	return &Progress{}
}

// IsTerminal reports whether a reader or writer is a terminal.
func IsTerminal(at any) bool {
	f, ok := at.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// Set shows how many steps of a total are done.
func (p *Progress) Set(done, total int) {
	if p.on == nil {
		return
	}
	if p.bar == nil {
		p.bars = mpb.New(mpb.WithOutput(p.on), mpb.WithWidth(40))
		p.bar = p.bars.AddBar(int64(total), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name(cmp.Or(p.Things, "parties")+" "),
				decor.CountersNoUnit("%d / %d")),
			mpb.AppendDecorators(decor.AverageETA(decor.ET_STYLE_GO)))
	}
	p.bar.SetTotal(int64(total), false)
	p.bar.SetCurrent(int64(done))
}

// Bytes shows how many bytes of a file were read. For a source without a size it shows how many
// records.
func (p *Progress) Bytes(records int, read, of int64) {
	if p.on == nil {
		return
	}
	if p.bar == nil {
		p.bars = mpb.New(mpb.WithOutput(p.on), mpb.WithWidth(40))
		p.bar = p.bars.AddBar(of, mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Any(func(decor.Statistics) string {
				return fmt.Sprint(p.records.Load(), " records ")
			})),
			mpb.AppendDecorators(decor.OnCondition(decor.Percentage(), of > 0)))
	}
	p.records.Store(int64(records))
	p.bar.SetCurrent(read)
}

// Stop takes the bar from the screen.
func (p *Progress) Stop() {
	if p.bar != nil {
		p.bar.Abort(true) // this has no effect on a complete bar
		p.bars.Wait()
		p.bar = nil
	}
}
