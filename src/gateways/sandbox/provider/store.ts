// Where the provider remembers. Two implementations: PostgreSQL, shared by every process that mounts the provider, and
// a journal file for the provider that runs alone.

import type { SandboxRecord } from './record.ts'

export interface SandboxStore {
  /**
   * Keeps the record unless its key is taken, and answers what is kept under the key: of any number of drafts with one
   * key, exactly one is ever created. What it answers is on disk.
   */
  insert(draft: SandboxRecord): Promise<{ record: SandboxRecord; created: boolean }>
  findByKey(key: string): Promise<SandboxRecord | undefined>
  findByPage(pageToken: string): Promise<SandboxRecord | undefined>
  findByOrder(order: string): Promise<SandboxRecord[]>
  /** Records whose planned time has come. */
  findDue(now: Date, limit: number): Promise<SandboxRecord[]>
  /** Replaces the version before `next`; false when somebody else already has. */
  replace(next: SandboxRecord): Promise<boolean>
  close(): Promise<void>
}
