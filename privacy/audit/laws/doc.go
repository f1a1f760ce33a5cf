// Package laws recovers the noise and its law from a release about a vector that the auditor made
// up, as input for audit.DependenceTest. It uses only the mechanism's name and exact parameters,
// which every release states, and shares no code with the samplers under audit. Only tests import
// it.
package laws
