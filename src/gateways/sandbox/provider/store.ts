// The provider's store. Two implementations: PostgreSQL, shared by every process that mounts the provider, and a
// journal file for a provider that runs alone.

import type { SandboxRecord } from './record.ts'

export interface SandboxStore {
  /**
   * Stores the record unless its key is taken, and returns the record under the key. Of several drafts with one key
   * exactly one is created. The returned record is durable.
   */
  insert(draft: SandboxRecord): Promise<{ record: SandboxRecord; created: boolean }>
  findByKey(key: string): Promise<SandboxRecord | undefined>
  findByPage(pageToken: string): Promise<SandboxRecord | undefined>
  findByOrder(order: string): Promise<SandboxRecord[]>
  /** Records whose planned time has come. */
  findDue(now: Date, limit: number): Promise<SandboxRecord[]>
  /** The records of an account that will change by themselves. */
  findPlanned(account: string): Promise<SandboxRecord[]>
  /** Replaces the previous version of `next`; false if another process was faster. */
  replace(next: SandboxRecord): Promise<boolean>
  close(): Promise<void>
}
