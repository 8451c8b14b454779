// The network between a process and a provider. A call may not be sent, be lost, arrive late or twice; its response may
// be lost, late, or unreadable. The connector is as simple as possible.

import type {
  Attempt,
  CheckoutChoice,
  Gateway,
  Outcome,
  RefundOutcome,
  RefundRequest,
  StartedCheckout,
  StatusQuery,
} from '../../../src/gateways/gateway.ts'
import type { Provider } from './provider.ts'
import type { Host, Sim } from './sim.ts'

/** The operations that move money. */
export type ArrivedVerb = 'charge' | 'checkout' | 'completion' | 'refund'

type Reason = Extract<Outcome, { kind: 'unknown' }>['reason']

const unknown = (reason: Reason) => ({ kind: 'unknown', reason, message: reason }) as const

export interface NetworkOptions {
  timeoutMs: number
  /** The longest time that a request may be in transit. */
  longestMs: number
  /** Called when a request reaches the provider, before its execution: the operation and our key. */
  onArrival: (provider: Provider, verb: ArrivedVerb, key: string) => void
  /** Called for every call. */
  onCall: (host: Host) => void
  /** Called when a call was sent, and will arrive. */
  onSent: (key: string) => void
}

/** The provider as one process sees it. */
export function connectGateway(sim: Sim, host: Host, provider: Provider, options: NetworkOptions): Gateway {
  const { prng, scheduler } = sim

  const call = <Answer>(
    label: string,
    act: () => Answer | 'no_response',
    isSubmission = false,
  ): Promise<Answer | ReturnType<typeof unknown>> => {
    const { epoch } = host
    options.onCall(host)
    return new Promise((resolve) => {
      const answer = (delayMs: number, value: Answer | ReturnType<typeof unknown>) =>
        sim.runOnHost(host, epoch, delayMs, `${label} answered`, () => resolve(value))
      if (sim.injects('notSent')) return answer(prng.between(0, 20), unknown('not_sent'))
      const deadlineMs = scheduler.now() + options.timeoutMs
      if (sim.isPartitioned() || sim.injects('requestLost'))
        return answer(options.timeoutMs, unknown('no_answer'))
      const latencyMs = sim.injects('requestDelayed')
        ? prng.between(0, options.longestMs)
        : prng.between(1, 60)
      if (isSubmission && sim.injects('requestDuplicated')) duplicate(label, latencyMs, act)
      if (isSubmission) options.onSent(label.split(' ').at(-1) ?? '')
      sim.extendFaultWindow(latencyMs)
      scheduler.after(latencyMs, label, () => {
        const value = act()
        const leftMs = deadlineMs - scheduler.now()
        const responseMs = sim.injects('requestDelayed') ? prng.between(0, 20_000) : prng.between(1, 60)
        const isReceived = value !== 'no_response' && responseMs < leftMs && !sim.injects('responseLost')
        if (!isReceived) return answer(Math.max(leftMs, 0), unknown('no_answer'))
        answer(responseMs, sim.injects('responseGarbled') ? unknown('unreadable') : value)
      })
    })
  }

  /** An intermediary sends the request once more. */
  const duplicate = (label: string, latencyMs: number, act: () => unknown) => {
    const delayMs = latencyMs + prng.between(0, options.longestMs)
    sim.extendFaultWindow(delayMs)
    scheduler.after(delayMs, `${label} again`, () => {
      if (!provider.hasRejected(label.split(' ').at(-1) ?? '')) act()
    })
  }

  const arrive =
    <Answer>(verb: ArrivedVerb, key: string, act: () => Answer) =>
    () => {
      options.onArrival(provider, verb, key)
      return act()
    }

  return {
    name: provider.name,
    rails: [{ currency: 'KES', channels: ['card', 'bank_transfer'] }],
    behavior: provider.behavior,
    startCheckout: (attempt: Attempt, _choice: CheckoutChoice) =>
      call<StartedCheckout | Outcome>(
        `${provider.name} opens ${attempt.key}`,
        arrive('checkout', attempt.key, () => provider.openPage(attempt)),
        true,
      ),
    chargeSaved: (attempt: Attempt) =>
      call<Outcome>(
        `${provider.name} charges ${attempt.key}`,
        arrive('charge', attempt.key, () => provider.charge(attempt)),
        true,
      ),
    verify: ({ key }: StatusQuery) =>
      call<Outcome>(`${provider.name} looks`, () => provider.checkStatus(key)),
    ...(provider.completes && {
      complete: ({ key }: StatusQuery) =>
        call<Outcome>(
          `${provider.name} completes ${key}`,
          arrive('completion', key, () => provider.complete(key)),
        ),
    }),
    ...(provider.cancels && {
      cancel: ({ key }: StatusQuery) => call<Outcome>(`${provider.name} cancels`, () => provider.cancel(key)),
    }),
    refund: (request: RefundRequest) =>
      call<RefundOutcome>(
        `${provider.name} refunds ${request.key}`,
        arrive('refund', request.key, () => provider.refund(request)),
        provider.behavior.nonIdempotentRefunds !== true,
      ),
    verifyRefund: ({ key }: RefundRequest) =>
      call<RefundOutcome>(`${provider.name} looks for a refund`, () => provider.checkRefundStatus(key)),
    parseWebhook: ({ rawBody }) => {
      // A boundary: the only webhooks here are those of our provider.
      const { key, eventId } = JSON.parse(rawBody.toString()) as { key: string; eventId: string }
      return { kind: 'payment', key, eventId }
    },
  }
}
