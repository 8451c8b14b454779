// A store with an in-memory index and an append-only file of JSON lines: one full record per change, the last line of a
// key wins. A response waits until its line is synced to disk; concurrent requests share one sync. One process per
// file.

import { type FileHandle, mkdir, open } from 'node:fs/promises'
import path from 'node:path'
import { createBatcher } from '../../../kit/db/batch.ts'
import { dueAt, type SandboxRecord } from './record.ts'
import type { SandboxStore } from './store.ts'

interface Entry {
  record: SandboxRecord
  /** Resolves when this version of the record is on disk. */
  written: Promise<void>
}

interface RecordIndex {
  byKey: Map<string, Entry>
  keyByPage: Map<string, string>
  keysByOrder: Map<string, string[]>
  /** Keys of records that will change by themselves. */
  planned: Set<string>
}

export async function openJournalStore(file: string): Promise<SandboxStore> {
  await mkdir(path.dirname(file), { recursive: true })
  const handle = await open(file, 'a+', 0o600)
  try {
    return createStore(buildIndex(await replay(handle)), handle)
  } catch (error) {
    await handle.close()
    throw error
  }
}

function buildIndex(records: SandboxRecord[]): RecordIndex {
  const index: RecordIndex = {
    byKey: new Map(),
    keyByPage: new Map(),
    keysByOrder: new Map(),
    planned: new Set(),
  }
  const written = Promise.resolve()
  for (const record of records) addToIndex(index, { record, written })
  return index
}

function createStore(index: RecordIndex, handle: FileHandle): SandboxStore {
  let broken: unknown
  const write = createBatcher<SandboxRecord, undefined>({
    async run(records) {
      // After a failure the file may end in half a line, so nothing may be appended.
      if (broken) throw broken
      try {
        return await append(handle, records)
      } catch (error) {
        broken = error
        throw error
      }
    },
    maxSize: 10_000,
    concurrency: 1,
    // A failed write leaves the index ahead of the file, so every reader of these records must fail too.
    shouldSplit: () => false,
  })

  const put = (record: SandboxRecord): Promise<void> => {
    const written = write(record)
    // Readers await it too and see the failure; without readers it must not become an unhandled rejection.
    written.catch(() => undefined)
    addToIndex(index, { record, written })
    return written
  }
  const find = async (key: string | undefined): Promise<SandboxRecord | undefined> => {
    const entry = key === undefined ? undefined : index.byKey.get(key)
    // Do not return a version before it is on disk: a crash could still undo it.
    await entry?.written
    return entry?.record
  }
  const findAll = async (keys: Iterable<string>): Promise<SandboxRecord[]> => {
    const found = await Promise.all([...keys].map(find))
    return found.filter((record) => record !== undefined)
  }

  return {
    async insert(draft) {
      const kept = index.byKey.get(draft.key)
      await (kept ? kept.written : put(draft))
      return { record: kept?.record ?? draft, created: !kept }
    },
    async replace(next) {
      if (index.byKey.get(next.key)?.record.version !== next.version - 1) return false
      await put(next)
      return true
    },
    findByKey: (key) => find(key),
    findByPage: (pageToken) => find(index.keyByPage.get(pageToken)),
    findByOrder: (order) => findAll(index.keysByOrder.get(order) ?? []),
    findDue: (now, limit) => findAll(dueKeys(index, now.toISOString()).slice(0, limit)),
    findPlanned: async (account) =>
      (await findAll(index.planned)).filter((record) => record.account === account),
    close: () => handle.close(),
  }
}

function addToIndex(index: RecordIndex, entry: Entry): void {
  const { record } = entry
  if (!index.byKey.has(record.key)) {
    const siblings = index.keysByOrder.get(record.order)
    if (siblings) siblings.push(record.key)
    else index.keysByOrder.set(record.order, [record.key])
    if (record.checkout) index.keyByPage.set(record.checkout.pageToken, record.key)
  }
  index.byKey.set(record.key, entry)
  if (dueAt(record)) index.planned.add(record.key)
  else index.planned.delete(record.key)
}

function dueKeys(index: RecordIndex, until: string): string[] {
  const isDue = (key: string) => {
    const entry = index.byKey.get(key)
    const at = entry && dueAt(entry.record)
    return at ? at <= until : false
  }
  return [...index.planned].filter(isDue)
}

async function append(handle: FileHandle, records: readonly SandboxRecord[]): Promise<undefined[]> {
  await handle.appendFile(records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  await handle.datasync()
  return records.map(() => undefined)
}

/** Reads every line of the file. A last line without its line end was never acknowledged, so it is cut off. */
async function replay(handle: FileHandle): Promise<SandboxRecord[]> {
  const content = await handle.readFile()
  const completeLength = content.lastIndexOf(0x0a) + 1
  if (completeLength < content.length) {
    await handle.truncate(completeLength)
    await handle.datasync()
  }
  const records: SandboxRecord[] = []
  for (let from = 0; from < completeLength; ) {
    const to = content.indexOf(0x0a, from)
    // A boundary: only this file writes the lines.
    records.push(JSON.parse(content.toString('utf8', from, to)) as SandboxRecord)
    from = to + 1
  }
  return records
}
