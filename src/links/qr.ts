// The address of a link as a QR code, for screens, posters and receipts. One drawing takes about 2 ms of CPU time, most of
// it to choose the mask that cameras read best. So drawings are cached by address, and a list draws one at a time and lets
// other requests run in between.

import { encode } from 'uqr'
import { createTurnQueue } from '../kit/event-loop.ts'

// About 4 KB each, so at most 20 MB.
const MAX_CACHED = 5_000

const cache = new Map<string, string>()

export function qrOf(address: string): string {
  const svg = cache.get(address) ?? drawQr(address)
  // Least recently used order: a used entry moves to the end, and the first is evicted.
  cache.delete(address)
  cache.set(address, svg)
  const [oldest] = cache.size > MAX_CACHED ? cache.keys() : []
  if (oldest !== undefined) cache.delete(oldest)
  return svg
}

const nextTurn = createTurnQueue()

/** For lists. All lists of the process share one queue, so that many lists block the event loop no longer than one. */
export async function qrsOf(addresses: readonly string[]): Promise<string[]> {
  const codes: string[] = []
  for (const address of addresses) {
    if (!cache.has(address)) await nextTurn()
    codes.push(qrOf(address))
  }
  return codes
}

// The quiet zone of the QR standard: with less, cameras miss the code on a dark background.
const QUIET_ZONE = 4

/** Always black on white. Adjacent modules of a row are one rectangle, which keeps the SVG small. */
function drawQr(address: string): string {
  // Level Q restores up to a quarter of the code if it is dirty, torn or covered.
  const { data, size } = encode(address, { ecc: 'Q', border: QUIET_ZONE })
  const path = data
    .map((row, y) =>
      runsOf(row)
        .map(({ x, width }) => `M${x} ${y}h${width}v1h-${width}z`)
        .join(''),
    )
    .join('')
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" role="img" aria-label="QR" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path d="${path}"/></svg>`
}

function runsOf(row: readonly boolean[]): { x: number; width: number }[] {
  const runs: { x: number; width: number }[] = []
  for (const [x, isDark] of row.entries()) {
    const last = runs.at(-1)
    if (!isDark) continue
    if (last && last.x + last.width === x) last.width += 1
    else runs.push({ x, width: 1 })
  }
  return runs
}
