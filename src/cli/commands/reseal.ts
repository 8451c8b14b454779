// cowry keys reseal: retires old encryption keys. It asks the service for one batch after the other, and repeats the pass over
// all encrypted values until one finds none of an older key, and neither does the check after it.

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
  isCheck: boolean
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
  /** Values of older keys that the check found: they were written after its pass had read their table. */
  writtenMeanwhile: number
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
    if (pass.writtenMeanwhile > 0) throw olderKeyInUse({ ...pass, resealed })
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
  const pass: Pass = { keyId: '', resealed: 0, left: {}, writtenMeanwhile: 0, retiredKeys: [] }
  let cursor: string | undefined
  let progress = { table: '', isCheck: false, read: 0, resealed: 0 }
  do {
    const { data } = await operator.call('POST', '/admin/v1/encryption/reseal', { cursor, limit })
    // A boundary: src/secrets/routes.ts describes this record.
    const batch = data as Batch
    addBatch(pass, batch)
    const same =
      progress.table === batch.table && batch.isCheck === progress.isCheck
        ? progress
        : { read: 0, resealed: 0 }
    const [read, resealed] = [same.read + batch.read, same.resealed + batch.resealed]
    progress = { table: batch.table, isCheck: batch.isCheck, read, resealed }
    if (!json)
      shell.terminal.err(
        `${batch.isCheck ? 'check of ' : ''}${batch.table}: ${read} rows read, ${resealed} values encrypted again\n`,
      )
    cursor = batch.cursor ?? undefined
  } while (cursor !== undefined)
  return pass
}

function addBatch(pass: Pass, { keyId, resealed, left, retiredKeys, isCheck }: Batch): void {
  if (isCheck) pass.writtenMeanwhile += resealed + countOf(left)
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
  return failed('values_left', message, pass)
}

function olderKeyInUse(pass: Pass): CommandError {
  const message =
    `${pass.resealed} values were encrypted again with the key "${pass.keyId}", but ${pass.writtenMeanwhile} of them were ` +
    'written with an older key while this ran: a process still has that key first. Keep the older keys. Restart every ' +
    'process with the new key first in COWRY_ENCRYPTION_KEYS, and run this again.'
  return failed('older_key_in_use', message, pass)
}

function failed(code: string, message: string, data: Pass): CommandError {
  return new CommandError(code, message, { status: 'error', message, data, error: { code } })
}
