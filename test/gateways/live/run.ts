// One live run: the steps in order, each with the calls that it made.

import type { RecordedCall, Recorder } from './recorder.ts'
import {
  chargeAgain,
  checkAccount,
  checkCredentials,
  declineCheckout,
  type Finding,
  leftOut,
  listRefunds,
  newAttempt,
  type Paid,
  payCheckout,
  refundHalf,
  repeatCheckout,
  type Stage,
  startCheckout,
} from './steps.ts'
import type { Webhooks } from './webhooks.ts'

export interface Step extends Finding {
  name: StepName
  calls: RecordedCall[]
}

export const STEPS = [
  'credentials',
  'account',
  'checkout',
  'repeated request',
  'payment',
  'charge of the saved method',
  'refund',
  'list of refunds',
  'decline',
  'webhooks',
] as const

export type StepName = (typeof STEPS)[number]

const NOT_PAID = 'There is no paid checkout.'

/** A failed step does not end the run, because later steps may still show something. */
export async function runSteps(stage: Stage, recorder: Recorder, webhooks: Webhooks): Promise<Step[]> {
  const steps: Step[] = []
  const step = async (name: StepName, run: () => Promise<Finding>) => {
    stage.person.say(`\n${steps.length + 1} of ${STEPS.length}: ${name}`)
    const finding = await run().catch((error) => ({ result: 'not seen' as const, detail: String(error) }))
    stage.person.say(`${finding.result}: ${finding.detail}`)
    steps.push({ name, ...finding, calls: recorder.take() })
  }
  let paid: Paid | null = null
  const afterPayment = (run: (of: Paid) => Promise<Finding>) => async () =>
    paid ? run(paid) : leftOut(NOT_PAID)

  await step('credentials', () => checkCredentials(stage))
  await step('account', () => checkAccount(stage))
  const attempt = newAttempt(stage, 'checkout')
  let started: Awaited<ReturnType<typeof startCheckout>> | undefined
  await step('checkout', async () => {
    started = await startCheckout(stage, attempt)
    return started.finding
  })
  const { reference = null, next = null } = started ?? {}
  const afterStart = (run: (of: string) => Promise<Finding>) => async () =>
    reference !== null && next ? run(reference) : leftOut('No checkout was started.')
  await step(
    'repeated request',
    afterStart((of) => repeatCheckout(stage, attempt, of)),
  )
  await step(
    'payment',
    afterStart(async (of) => {
      if (!next) return leftOut('No checkout was started.')
      const result = await payCheckout(stage, attempt, { reference: of, next })
      paid = result.paid
      return result.finding
    }),
  )
  await step(
    'charge of the saved method',
    afterPayment((of) => chargeAgain(stage, of)),
  )
  await step(
    'refund',
    afterPayment((of) => refundHalf(stage, of)),
  )
  await step(
    'list of refunds',
    afterPayment((of) => listRefunds(stage, of)),
  )
  await step('decline', () => declineCheckout(stage))
  await step('webhooks', async () => webhooks.finding(stage.gateway))
  return steps
}
