# Needs R 4.0 and no package. In a session:
#
#     source("curves.R")
#     caucus_curves       # share without the event: a row for each group and time
#     caucus_compared     # hazard ratio, log-rank p and difference of shares
#     caucus_plot()       # curves with 95 % bands, numbers at risk below
#
# As a program it draws a file: Rscript curves.R curves.pdf
#
# caucus_numbers has all numbers. low and high are 95 % intervals, for sampling and noise; an end
# that noise leaves open is infinite, and NA means none. unknown says why there is no value;
# a median without a value may still have a low end.

caucus_of <- function(measures) {
  rows <- caucus_numbers[caucus_numbers$measure %in% measures, ]
  rownames(rows) <- NULL
  rows
}

caucus_curves <- caucus_of("without_event")
caucus_groups <- caucus_of(c("all_records", "all_events", "median", "restricted_mean"))
caucus_compared <- caucus_of(c("hazard_ratio", "log_rank_p", "difference"))

caucus_plot <- function(colours = c("#2c8fd1", "#d55e00", "#009e73", "#cc79a7")) {
  risk <- caucus_of("at_risk")
  if (nrow(risk) == 0) stop("no group has a curve: caucus_groups says why")
  groups <- unique(caucus_curves$group)
  names <- trimws(paste(caucus_curves$by[match(groups, caucus_curves$group)], groups))
  colours <- rep_len(colours, length(groups))
  old <- par(mar = c(6 + length(groups), 9, if (caucus_simulated) 3 else 1, 1))
  on.exit(par(old))
  times <- sort(unique(risk$time))
  times <- times[unique(round(seq(1, length(times), length.out = min(length(times), 7))))]
  plot(NULL,
    xlim = c(0, max(caucus_curves$time)), ylim = c(0, 1), xaxt = "n", las = 1, bty = "l",
    xlab = caucus_axis, ylab = paste("share without", caucus_event),
    main = if (caucus_simulated) "simulated: protects nobody"
  )
  axis(1, at = times, labels = format(times, digits = 3, trim = TRUE, drop0trailing = TRUE))
  left <- par("usr")[1] - strwidth("0000")
  mtext("at risk", side = 1, line = 4, at = left, adj = 1)
  for (k in seq_along(groups)) {
    rows <- caucus_curves[caucus_curves$group == groups[k], ]
    polygon(c(rows$time, rev(rows$time)), c(rows$low, rev(rows$high)),
      col = grDevices::adjustcolor(colours[k], 0.18), border = NA
    )
    lines(rows$time, rows$value, col = colours[k], lty = k, lwd = 2)
    below <- risk[risk$group == groups[k] & risk$time %in% times, ]
    mtext(names[k], side = 1, line = 4 + k, at = left, adj = 1)
    if (nrow(below) > 0) {
      mtext(round(pmax(below$value, 0)), side = 1, line = 4 + k, at = below$time)
    }
  }
  legend("bottomleft", names, col = colours, lty = seq_along(groups), lwd = 2, bty = "n")
  invisible(caucus_curves)
}

if (sys.nframe() == 0L && !interactive()) {
  args <- commandArgs(trailingOnly = TRUE)
  if (length(args) != 1) {
    message("usage: Rscript curves.R PICTURE.pdf")
    quit(save = "no", status = 1)
  }
  grDevices::pdf(args[1], width = 7, height = 6)
  caucus_plot()
  invisible(grDevices::dev.off())
}
