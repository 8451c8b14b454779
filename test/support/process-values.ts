// What the files of one process share. A file that runs alone has nothing to share.

import type { Cleanup } from './database.ts'

/** The name of the service that files without settings share. */
export const SHARED_SERVICE = 'service'

const values = new Map<string, Promise<unknown>>()
const ends: { name: string; end: () => Promise<void> }[] = []
let isGroup = false

/** run-group.ts calls this before its first file. */
export function startSharing(): void {
  isGroup = true
}

export function canShare(): boolean {
  return isGroup
}

/** Makes the value for the first file that wants it. It ends with the process, or before. */
export function sharedValue<Value>(name: string, make: (end: Cleanup) => Promise<Value>): Promise<Value> {
  const existing = values.get(name)
  // A boundary: a name belongs to one kind of value.
  if (existing) return existing as Promise<Value>
  const made = make({ after: (end) => void ends.push({ name, end }) })
  values.set(name, made)
  return made
}

/** Ends the shared values, in the order in which they asked for it; one that fails does not keep the others open. */
export async function endSharing(): Promise<void> {
  values.clear()
  await runAll(ends.splice(0))
}

export function isShared(name: string): boolean {
  return values.has(name)
}

/** Ends one shared value. A file that wants it afterwards makes it anew. */
export async function endShared(name: string): Promise<void> {
  values.delete(name)
  const others = ends.filter((one) => one.name !== name)
  await runAll(ends.splice(0, ends.length, ...others).filter((one) => one.name === name))
}

async function runAll(list: typeof ends): Promise<void> {
  const errors: unknown[] = []
  for (const { end } of list) await end().catch((error: unknown) => errors.push(error))
  if (errors.length > 0) throw errors[0]
}
