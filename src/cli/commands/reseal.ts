// cowry keys reseal: retires old encryption keys. It asks the service for one batch after the other, and repeats the pass over
// all encrypted values until one finds none of an older key.

import type { Command } from 'commander'
import type { OperatorClient } from '../operator-client.ts'
import { type JsonOption, parseInteger, withJson } from '../options.ts'
import type { Shell } from '../shell.ts'
import { CommandError } from '../terminal.ts'

interface Batch {
  keyId: string
  table: string
  read: number
  resealed: number
  left: Record<string, number>
  cursor: string | null
  retiredKeys: string[]
}

interface ResealOptions extends JsonOption {
  batch?: number
}

interface Pass {
  keyId: string
  resealed: number
  left: Record<string, number>
  retiredKeys: string[]
}

// The first pass encrypts, the second proves it. Values that are still found then are written by a process with an old key.
const MAX_PASSES = 4

export function addResealCommand(keys: Command, shell: Shell): void {
  withJson(keys.command('reseal'))
    .description(
      'Encrypt everything again with the first key of COWRY_ENCRYPTION_KEYS, so that older encryption keys can be removed. Run it when all processes have the new key first. It is safe beside a running service; after an interruption run it again.',
    )
    .option('--batch <rows>', 'rows of a batch, 1 to 1000 (default: 500)', parseInteger)
    .action(async (options: ResealOptions) => {
      const result = await shell.withOperator((operator) => resealAll(operator, shell, options))
      const { keyId, resealed, retiredKeys } = result
      const message =
        `${resealed} values were encrypted again with the key "${keyId}". 0 values are left under other keys: ` +
        `${retiredKeys.length > 0 ? retiredKeys.join(', ') : 'every other key'} may be removed from COWRY_ENCRYPTION_KEYS.`
      shell.show({ status: 'success', message, data: result }, options, () => `${message}\n`)
    })
}

async function resealAll(operator: OperatorClient, shell: Shell, options: ResealOptions): Promise<Pass> {
  let resealed = 0
  for (let passes = 1; ; passes += 1) {
    const pass = await runPass(operator, shell, options)
    resealed += pass.resealed
    const isClean = pass.resealed === 0 && countOf(pass.left) === 0
    if (isClean) return { ...pass, resealed }
    if (pass.resealed === 0 || passes === MAX_PASSES) throw valuesLeft({ ...pass, resealed })
  }
}

const countOf = (left: Record<string, number>) =>
  Object.values(left).reduce((total, count) => total + count, 0)

async function runPass(
  operator: OperatorClient,
  shell: Shell,
  { batch: limit, json }: ResealOptions,
): Promise<Pass> {
  const pass: Pass = { keyId: '', resealed: 0, left: {}, retiredKeys: [] }
  let cursor: string | undefined
  let progress = { table: '', read: 0, resealed: 0 }
  do {
    const { data } = await operator.call('POST', '/admin/v1/encryption/reseal', { cursor, limit })
    // A boundary: src/secrets/routes.ts describes this record.
    const batch = data as Batch
    addBatch(pass, batch)
    const same = progress.table === batch.table ? progress : { read: 0, resealed: 0 }
    progress = { table: batch.table, read: same.read + batch.read, resealed: same.resealed + batch.resealed }
    if (!json)
      shell.terminal.err(
        `${batch.table}: ${progress.read} rows read, ${progress.resealed} values encrypted again\n`,
      )
    cursor = batch.cursor ?? undefined
  } while (cursor !== undefined)
  return pass
}

function addBatch(pass: Pass, { keyId, resealed, left, retiredKeys }: Batch): void {
  pass.keyId = keyId
  pass.resealed += resealed
  pass.retiredKeys = retiredKeys
  for (const [key, count] of Object.entries(left)) pass.left[key] = (pass.left[key] ?? 0) + count
}

function valuesLeft(pass: Pass): CommandError {
  const counts = Object.entries(pass.left).map(([key, count]) => `${count} under "${key}"`)
  const left = counts.length > 0 ? counts.join(', ') : 'a process still writes with an older key'
  const message =
    `${pass.resealed} values were encrypted again with the key "${pass.keyId}", but not all: ${left}. Keep the older keys. ` +
    'Restart every process with the new key first, see the log for encryption.value_unreadable, and run this again.'
  return new CommandError('values_left', message, {
    status: 'error',
    message,
    data: pass,
    error: { code: 'values_left' },
  })
}
