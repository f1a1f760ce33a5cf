package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"caucus/dataset"
)

// componentsFlags says which public map is fitted on the pool; c holds the
// defaults.
func componentsFlags(f *pflag.FlagSet, c *dataset.Components) {
	f.TextVar(&c.Project, "project", c.Project, "components of the pool to keep; 0 keeps all features, auto as many as the forecast wants")
	f.Float64Var(&c.Whiten, "whiten", c.Whiten, "how far to even the components out: 0 not, 1 fully")
	f.StringVar((*string)(&c.Analysis), "analysis", string(c.Analysis),
		fmt.Sprintf("how columns are scaled before: %s, each by its own deviation, or %s, by the schema's bounds; default by the schema", dataset.FAMD, dataset.PCA))
}
