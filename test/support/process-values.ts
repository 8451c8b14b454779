// What the files of one process share. A file that runs alone has nothing to share.

import type { Cleanup } from './database.ts'

const values = new Map<string, Promise<unknown>>()
const ends: (() => Promise<void>)[] = []
let isGroup = false

/** run-group.ts calls this before its first file. */
export function startSharing(): void {
  isGroup = true
}

export function canShare(): boolean {
  return isGroup
}

/** Makes the value for the first file that wants it. It ends with the process. */
export function sharedValue<Value>(name: string, make: (end: Cleanup) => Promise<Value>): Promise<Value> {
  const existing = values.get(name)
  // A boundary: a name belongs to one kind of value.
  if (existing) return existing as Promise<Value>
  const made = make({ after: (end) => void ends.push(end) })
  values.set(name, made)
  return made
}

/** Ends the shared values, in the order in which they asked for it; one that fails does not keep the others open. */
export async function endSharing(): Promise<void> {
  const errors: unknown[] = []
  for (const end of ends.splice(0)) await end().catch((error: unknown) => errors.push(error))
  if (errors.length > 0) throw errors[0]
}
