// The script of our pages. Its URL contains its digest, so browsers cache it as immutable, and integrity checks
// refuse any other.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

const source = readFileSync(new URL('./client.js', import.meta.url), 'utf8')

const digest = createHash('sha384').update(source).digest('base64')

export const SCRIPT = {
  source,
  path: `/assets/checkout.${digest.replaceAll(/[^0-9A-Za-z]/g, '').slice(0, 12)}.js`,
  integrity: `sha384-${digest}`,
} as const
