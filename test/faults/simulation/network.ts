// The line between a process and a provider. A call may never leave, get lost on its way, arrive late or twice; its answer
// may get lost, come too late, or be unreadable. The connector in front of it is as simple as one can be.

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

type Reason = Extract<Outcome, { kind: 'unknown' }>['reason']

const unknown = (reason: Reason) => ({ kind: 'unknown', reason, message: reason }) as const

export interface NetworkOptions {
  timeoutMs: number
  /** How long a request may be under way at most. */
  longestMs: number
  /** What reaches the provider, before it does anything: the verb and our key. */
  onArrival: (provider: Provider, verb: 'charge' | 'checkout' | 'refund', key: string) => void
  /** Somebody calls. */
  onCall: (host: Host) => void
  /** A call has left us, and will arrive. */
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

  /** Somebody on the way sends it once more. */
  const duplicate = (label: string, latencyMs: number, act: () => unknown) => {
    const delayMs = latencyMs + prng.between(0, options.longestMs)
    sim.extendFaultWindow(delayMs)
    scheduler.after(delayMs, `${label} again`, () => {
      if (!provider.hasRejected(label.split(' ').at(-1) ?? '')) act()
    })
  }

  const arrive =
    <Answer>(verb: 'charge' | 'checkout' | 'refund', key: string, act: () => Answer) =>
    () => {
      options.onArrival(provider, verb, key)
      return act()
    }

  return {
    name: provider.name,
    rails: [{ currency: 'KES', channels: ['card', 'bank_transfer'] }],
    recovery: provider.recovery,
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
    ...(provider.cancels && {
      cancel: ({ key }: StatusQuery) => call<Outcome>(`${provider.name} cancels`, () => provider.cancel(key)),
    }),
    refund: (request: RefundRequest) =>
      call<RefundOutcome>(
        `${provider.name} refunds ${request.key}`,
        arrive('refund', request.key, () => provider.refund(request)),
        provider.recovery.nonIdempotentRefunds !== true,
      ),
    verifyRefund: ({ key }: RefundRequest) =>
      call<RefundOutcome>(`${provider.name} looks for a refund`, () => provider.checkRefundStatus(key)),
    parseWebhook: (_headers, rawBody) => {
      // A boundary: the only webhooks here are our provider's own.
      const { key, eventId } = JSON.parse(rawBody.toString()) as { key: string; eventId: string }
      return { kind: 'payment', key, eventId }
    },
  }
}
