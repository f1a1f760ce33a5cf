package dataset

// ColumnCode says how one column of a file becomes encoded columns, for whoever
// writes the encoding down in another language.
type ColumnCode struct {
	Column string
	// Feature gives kind, bounds and levels; its own Column and Columns are empty.
	Feature Feature
	// First is the first of the column's Width encoded columns. A number has its
	// value there and, where Feature.Missing, the mark of a missing one behind it; a
	// level k has its 0/1 column at First+k.
	First, Width int
	// Other is the encoded column of texts that are no level, −1 for numbers.
	Other int

	levels levels
}

// ColumnCodes are the codes of all feature columns, in the order of the schema.
func (s Schema) ColumnCodes() []ColumnCode {
	var all []ColumnCode
	first := 0
	for i := range s.Features {
		f := s.Features[i]
		names, _ := f.names(maxColumns) // Validate has checked it
		e := newCellEncoder(&s, &f, 0)
		shared := f
		shared.Column, shared.Columns = "", nil
		for _, name := range names {
			c := ColumnCode{Column: name, Feature: shared, First: first, Width: f.width(), Other: -1, levels: e.levels}
			if f.Kind == Categorical {
				c.Other = first + e.other
			}
			all = append(all, c)
			first += f.width()
		}
	}
	return all
}

// Level is the level that a text stands for, as Encode reads it: its own, or one that
// is the same number written otherwise; false for a text that counts as other.
func (c ColumnCode) Level(text string) (int, bool) { return c.levels.find(text) }
