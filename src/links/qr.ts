// The address of a link as a picture that a phone reads from a screen, a wall or a receipt.

import { encode } from 'uqr'

// The standard's own margin: with less of it, cameras miss the code on a dark background.
const QUIET_ZONE = 4

/** Black on white whatever surrounds it. Modules of a row that touch are drawn as one, which keeps the text short. */
export function qrOf(address: string): string {
  // A quarter of it may be dirty, torn or covered by a thumb.
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
