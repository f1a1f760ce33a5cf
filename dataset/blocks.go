package dataset

// Block is a run of encoded columns, each ≥ 0 with sum ≤ 1: the levels of a text, or a single
// number.
type Block struct {
	Column       string
	Start, Width int
	// OneHot reports that exactly one entry is 1 and the others are 0.
	OneHot bool
}

// Blocks lists the blocks of encoded columns in order. A number with a missing flag is two blocks.
func (s Schema) Blocks() []Block {
	var all []Block
	at := 0
	for _, f := range s.Features {
		names, _ := f.names(maxColumns) // no error: Validate has checked the names
		for _, name := range names {
			if f.Kind == Categorical {
				all = append(all, Block{name, at, f.width(), true})
				at += f.width()
				continue
			}
			for range f.width() {
				all = append(all, Block{name, at, 1, false})
				at++
			}
		}
	}
	return all
}
