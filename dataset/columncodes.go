package dataset

// ColumnCode describes the encoding of a column, for export to another language.
type ColumnCode struct {
	Column string
	// Feature gives kind, bounds and levels; its own Column and Columns are empty.
	Feature Feature
	// FirstColumn is the first of Width encoded columns. A number has its value there and, with
	// Feature.FlagMissing, the missing flag next to it. Level k has its 0/1 column at
	// FirstColumn+k.
	FirstColumn, Width int
	// OtherColumn is the encoded column of unknown texts, −1 for numbers.
	OtherColumn int

	levels levels
}

// ColumnCodes lists the codes of all feature columns, in schema order.
func (s Schema) ColumnCodes() []ColumnCode {
	var all []ColumnCode
	first := 0
	for i := range s.Features {
		f := s.Features[i]
		names, _ := f.names(maxColumns) // no error: Validate has checked the names
		e := newCellEncoder(&s, &f, 0)
		shared := f
		shared.Column, shared.Columns = "", nil
		for _, name := range names {
			c := ColumnCode{Column: name, Feature: shared, FirstColumn: first, Width: f.width(),
				OtherColumn: -1, levels: e.levels}
			if f.Kind == Categorical {
				c.OtherColumn = first + e.other
			}
			all = append(all, c)
			first += f.width()
		}
	}
	return all
}

// Level returns the level of a text, and false if there is none. Numbers match in any form: "1.0"
// is "1".
func (c ColumnCode) Level(text string) (int, bool) { return c.levels.find(text) }
