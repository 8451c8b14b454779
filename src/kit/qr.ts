// Draws a text as a QR code, always black on white. One drawing takes about 2 ms of CPU time, most of it to choose the mask
// that cameras read best. It keeps nothing: some codes hold a secret.

import { encode } from 'uqr'

// The quiet zone of the QR standard: with less, cameras miss the code on a dark background.
const QUIET_ZONE = 4

/** An SVG. Adjacent modules of a row are one rectangle, which keeps it small. */
export function drawQr(text: string): string {
  // Level Q restores up to a quarter of the code if it is dirty, torn or covered.
  const { data, size } = encode(text, { ecc: 'Q', border: QUIET_ZONE })
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
