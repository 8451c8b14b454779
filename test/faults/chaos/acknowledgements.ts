// The load's log of acknowledgements: a line counts only when it is synced to disk, and the comparison at the end reads
// it back. Concurrent acknowledgements share one sync.

import { open, readFile } from 'node:fs/promises'
import { createBatcher } from '../../../src/kit/db/batch.ts'

export interface Acknowledgement {
  /** The operation: charge, initiate, complete, refund or read. */
  operation: string
  about: 'payment' | 'refund'
  /** The reference of the payment; a refund has none. */
  reference: string | null
  uuid: string
  status: string
  at: string
}

export interface AcknowledgementLog {
  /** Resolves when it is on disk. */
  write(acknowledgement: Acknowledgement): Promise<void>
  close(): Promise<void>
}

export async function openAcknowledgementLog(file: string): Promise<AcknowledgementLog> {
  const handle = await open(file, 'a', 0o600)
  const write = createBatcher<Acknowledgement, undefined>({
    async run(lines) {
      await handle.appendFile(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
      await handle.datasync()
      return lines.map(() => undefined)
    },
    maxSize: 10_000,
    concurrency: 1,
    shouldSplit: () => false,
  })
  return { write, close: () => handle.close() }
}

export async function readAcknowledgements(file: string): Promise<Acknowledgement[]> {
  const lines = (await readFile(file, 'utf8')).split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line))
}
