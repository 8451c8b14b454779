// The address of a link as a QR code, for screens, posters and receipts. A drawing takes about 2 ms of CPU time. So drawings
// are cached by address, and lists have none.

import { drawQr } from '../kit/qr.ts'

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
