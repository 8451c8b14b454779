// Finds and resolves cases in tests, and looks up the refunds at the provider that can open one.

import assert from 'node:assert/strict'
import type { ResolutionRequest } from '../../src/case-resolutions/request.ts'
import { type CaseKind, kindFacts, type Resolution } from '../../src/cases/case-kinds.ts'
import { listCases } from '../../src/cases/find.ts'
import { money } from '../../src/core/money.ts'
import type { ProviderRefund } from '../../src/gateways/gateway.ts'
import { claimRefundLookups, wakeLookup } from '../../src/provider-refunds/lookup.ts'
import { NAME, type PaymentsRig } from './payments-rig.ts'

export function caseTools(rig: PaymentsRig) {
  const casesOf = async (paymentId: string) => {
    const { cases } = await listCases(rig.app, null, { state: 'all', limit: 100, payment: paymentId })
    return cases.map(({ row }) => row)
  }
  const caseOf = async (paymentId: string, kind: CaseKind) => {
    const found = (await casesOf(paymentId)).filter((one) => one.kind === kind)
    assert.deepEqual(
      found.map(({ closedAt }) => closedAt),
      [null],
      `one case of the kind ${kind} is open`,
    )
    return found[0] ?? assert.fail()
  }
  const lookUp = async (paymentId: string, by = rig.app) => {
    const { gatewayKey: key } = await rig.attempt(paymentId)
    await wakeLookup(by, { gateway: NAME, accountId: null, key })
    for (const piece of await claimRefundLookups(by, 100)) await piece()
  }
  return { casesOf, caseOf, lookUp }
}

// The provider's ids are unique.
let lastRefund = 0

/** A refund in KES that was made at the provider. */
export function refundAt(minor: bigint, status: ProviderRefund['status'] = 'succeeded'): ProviderRefund {
  lastRefund += 1
  const reference = `re-${lastRefund}.`
  return { reference, key: null, paymentNames: [], status, amount: money(minor, 'KES') }
}

export const resolutionRequest = (kind: CaseKind, resolution: Resolution): ResolutionRequest => ({
  ...{ resolution, note: 'Looked up at the provider.' },
  proof: kindFacts(kind).proof.includes(resolution) ? `proof-${kind}` : null,
})
