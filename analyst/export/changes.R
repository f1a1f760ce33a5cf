# Needs R 4.0 and no package. In a session:
#
#     source("changes.R")
#     caucus_changes      # a row for each column or level, with its 95 % interval
#     caucus_fit          # intercept, R2, what is left, and how many records count
#     caucus_plot()       # dots with 95 % intervals, beside no difference
#
# As a program it draws a file: Rscript changes.R changes.pdf
#
# caucus_numbers has all numbers. value is where the column is higher by 1; the drawing is for a
# difference of per, which step says in words. low and high are 95 % intervals, for sampling and
# noise; NA means none, and unknown says why. factor is exp(value * per)
# where the outcome is a logarithm.

caucus_changes <- caucus_numbers[caucus_numbers$measure == "change", ]
caucus_fit <- caucus_numbers[caucus_numbers$measure != "change", c(
  "measure", "unknown", "value", "low", "high", "sd", "noise_sd"
)]
rownames(caucus_changes) <- NULL
rownames(caucus_fit) <- NULL

caucus_plot <- function(colours = c("#2c8fd1", "#777777")) {
  known <- caucus_changes[!is.na(caucus_changes$value), ]
  if (nrow(known) == 0) stop("no coefficient is known: caucus_changes says why")
  logged <- nchar(caucus_factor_of) > 0
  none <- if (logged) 1 else 0
  ends <- known[, c("value", "low", "high")] * known$per
  if (logged) ends <- exp(ends)
  rows <- rev(seq_len(nrow(known)))
  margin <- max(strwidth(known$step, units = "inches", cex = 0.9)) + 0.3
  old <- par(mai = c(0.9, min(margin, 4), if (caucus_simulated) 0.6 else 0.2, 0.2))
  on.exit(par(old))
  plot(NULL,
    xlim = range(none, ends), ylim = c(0.5, nrow(known) + 0.5), yaxt = "n", ylab = "", bty = "n",
    log = if (logged) "x" else "",
    xlab = if (logged) paste("factor of", caucus_factor_of) else caucus_change,
    main = if (caucus_simulated) "simulated: protects nobody"
  )
  abline(v = none, lty = 3)
  clear <- ends$low > none | ends$high < none
  colour <- colours[ifelse(clear, 1, 2)]
  segments(ends$low, rows, ends$high, rows, col = colour, lwd = 2)
  points(ends$value, rows, pch = 19, col = colour)
  axis(2, at = rows, labels = known$step, las = 1, tick = FALSE, cex.axis = 0.9)
  invisible(known)
}

if (sys.nframe() == 0L && !interactive()) {
  args <- commandArgs(trailingOnly = TRUE)
  if (length(args) != 1) {
    message("usage: Rscript changes.R PICTURE.pdf")
    quit(save = "no", status = 1)
  }
  grDevices::pdf(args[1], width = 7, height = 2 + 0.3 * nrow(caucus_changes))
  caucus_plot()
  invisible(grDevices::dev.off())
}
