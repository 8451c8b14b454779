// Throughput and latency of charges against the number of connections, as an SVG without any library.

import type { SweepPoint } from './report.ts'

interface Series {
  name: string
  color: string
  values: number[]
}

const WIDTH = 860
const HEIGHT = 340
const PANEL = { width: 350, height: 220, top: 60 }
const LEFTS = [60, 490] as const
const STEPS = 4

const TITLE = 'Recurring charges against the number of connections'

export function renderPlot(
  points: readonly SweepPoint[],
  baselinePerSecond: number,
  caption: string,
): string {
  const throughput: Series[] = [
    { name: 'charges per second', color: '#0b6e4f', values: points.map((point) => point.perSecond) },
    { name: 'pgbench, the same steps', color: '#999', values: points.map(() => baselinePerSecond) },
  ]
  const latency: Series[] = [
    { name: 'p50, ms', color: '#1f5fa8', values: points.map((point) => point.p50Ms) },
    { name: 'p99, ms', color: '#b3361f', values: points.map((point) => point.p99Ms) },
  ]
  const marks = points.map(({ connections }) => String(connections))
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<title>${TITLE}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    text(LEFTS[0], 24, TITLE, 'font-size="15"'),
    panel(LEFTS[0], marks, throughput),
    panel(LEFTS[1], marks, latency),
    text(LEFTS[0], HEIGHT - 8, caption, 'fill="#666"'),
    '</svg>\n',
  ].join('\n')
}

function panel(left: number, marks: readonly string[], series: readonly Series[]): string {
  const top = niceCeiling(Math.max(...series.flatMap(({ values }) => values)))
  const x = (index: number) => left + (PANEL.width * index) / Math.max(1, marks.length - 1)
  const y = (value: number) => PANEL.top + PANEL.height * (1 - value / top)
  const grid = Array.from({ length: STEPS + 1 }, (_, step) => {
    const value = (top * step) / STEPS
    const rule = `<path d="M${left} ${y(value)}h${PANEL.width}" stroke="#ddd"/>`
    return rule + text(left - 6, y(value) + 4, String(value), 'text-anchor="end" fill="#666"')
  })
  const below = marks.map((mark, index) =>
    text(x(index), PANEL.top + PANEL.height + 18, mark, 'text-anchor="middle" fill="#666"'),
  )
  const lines = series.map(({ color, values }) => {
    const path = values.map(
      (value, index) => `${index === 0 ? 'M' : 'L'}${round(x(index))} ${round(y(value))}`,
    )
    return `<path d="${path.join('')}" fill="none" stroke="${color}" stroke-width="2"/>`
  })
  const legend = series.map(({ name, color }, index) =>
    text(left + index * 180, PANEL.top - 14, name, `fill="${color}"`),
  )
  return [...grid, ...below, ...lines, ...legend].join('\n')
}

function text(x: number, y: number, content: string, attributes: string): string {
  return `<text x="${round(x)}" y="${round(y)}" ${attributes}>${content}</text>`
}

const round = (value: number) => Math.round(value * 10) / 10

/** The next larger number that gives readable ticks on an axis of four steps. */
export function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  const factor = [1, 2, 4, 6, 8, 10].find((one) => one * power >= value) ?? 10
  return factor * power
}
