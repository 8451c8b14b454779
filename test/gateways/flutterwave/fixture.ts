// The recorded responses of Flutterwave.

import { readFileSync } from 'node:fs'

export type Json = Record<string, unknown>

export function readFixture(name: string): Json {
  return JSON.parse(readFileSync(new URL(`fixtures/${name}.json`, import.meta.url), 'utf8'))
}
