package embedding

const (
	// EstimatorClassMeans (the default) first estimates the mean embedding of every class, B =
	// argmin ‖Φ − BP̃‖², from the sets' mean embeddings Φ and shares P̃. Then ρ = argmin over the
	// simplex of ‖Bρ − Φ_U‖², with Φ_U the target's embedding. Both use u-statistics (see Gram).
	// More sets than classes improve it, and it corrects for the known noise in P̃.
	EstimatorClassMeans = "class-means"
	// EstimatorMixture is the estimator as published (Iyer, Nath & Sarawagi 2016): α̂ = argmin
	// ‖Σα_iΦ_i − Φ_U‖², unconstrained, with the V-statistic Gram matrix; then P̂α̂ is projected
	// onto the simplex.
	EstimatorMixture = "mixture"
)

// Estimators lists the names that Fit accepts, the default first.
func Estimators() []string { return []string{EstimatorClassMeans, EstimatorMixture} }
