// Checks of what a connector reads in a webhook.

import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import type { Attempt, ParsedWebhook } from '../../../src/gateways/gateway.ts'
import type { Webhook } from './subject.ts'

export function flipBit(body: Buffer, offset: number): Buffer {
  const changed = Buffer.from(body)
  changed.writeUInt8(body.readUInt8(offset) ^ 1, offset)
  return changed
}

/** By our key, or by the provider's id of the payment where it is known. */
export function assertNames(
  reading: ParsedWebhook | undefined,
  attempt: Pick<Attempt, 'key'>,
  gatewayReference?: string,
): void {
  assert.ok(reading?.kind === 'payment', inspect(reading))
  if (reading.key !== undefined) assert.equal(reading.key, attempt.key)
  else if (gatewayReference === undefined) assert.notEqual(reading.gatewayReference, '')
  else assert.equal(reading.gatewayReference, gatewayReference)
  assert.notEqual(reading.eventId, '')
}

export function assertForged(reading: ParsedWebhook): void {
  assert.deepEqual(reading, { kind: 'forged' })
}

const MAX_REPORT_BYTES = 4_096

export const reportOf = (reading: ParsedWebhook): string | undefined =>
  'report' in reading ? reading.report : undefined

export function assertReport(reading: ParsedWebhook, { url = '' }: Webhook): void {
  const report = reportOf(reading)
  if (report === undefined) return
  assert.doesNotThrow(() => JSON.parse(report), 'a report is JSON')
  assert.ok(Buffer.byteLength(report) <= MAX_REPORT_BYTES, `the report has ${report.length} characters`)
  assert.ok(!report.includes(url.split('/').at(-1) ?? url), 'the report contains the secret of the path')
}
