// Charts, drawn on the server as SVG: a title for each point, and no text inside, so that they stretch to any width.

import { type Html, html } from '../../kit/http/html.ts'

interface Bar {
  /** For the height alone. */
  value: number
  /** What the point stands for, with its number. */
  title: string
}

interface BarChart {
  title: string
  bars: readonly Bar[]
  /** The texts at the ends of the axes. */
  highest: string
  first: string
  last: string
}

// A bar and the gap after it.
const STEP = 10
const BAR = 8
const HEIGHT = 100

/** Bars over time, the oldest first. The numbers belong beside it as a table. */
export function barChart({ title, bars, highest, first, last }: BarChart): Html {
  const most = Math.max(...bars.map(({ value }) => value), 0)
  const heightOf = (value: number) => (most > 0 ? round((Math.max(value, 0) / most) * HEIGHT) : 0)
  return html`<figure class="chart"><figcaption><b>${title}</b><span>${highest}</span></figcaption>
<svg class="chart" viewBox="0 0 ${bars.length * STEP} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${title}">${bars.map(
    ({ value, title: text }, index) =>
      html`<g><title>${text}</title><path class="past" d="M${index * STEP} 0h${STEP}v${HEIGHT}h-${STEP}z"/><path class="bar" d="M${index * STEP + 1} ${HEIGHT}h${BAR}v-${heightOf(value)}h-${BAR}z"/></g>`,
  )}</svg><div class="ends" dir="ltr"><span>${first}</span><span>${last}</span></div></figure>`
}

/** A bar of a row: its share of the largest one. */
export function shareBar(share: number, title: string): Html {
  return html`<svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="${title}"><title>${title}</title><path class="past" d="M0 0h100v8H0z"/><path class="bar" d="M0 0h${round(share * 100)}v8H0z"/></svg>`
}

const round = (value: number) => Math.round(value * 10) / 10
