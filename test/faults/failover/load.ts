// Sixteen clients that make payments and charges, each with retries until it is acknowledged, and the log of
// acknowledgements.

import { setTimeout as delay } from 'node:timers/promises'
import type { Api, ApiResponse } from '../../support/api.ts'
import { CUSTOMER, chargeBody, initiateBody, saveMethod } from '../../support/builders.ts'

export const WRITERS = 16

export interface Acknowledgement {
  uuid: string
  status: string
}

export interface Load {
  acknowledged: readonly Acknowledgement[]
  /** Requests that got 503 or no response. */
  unanswered(): number
  /** Responses that no client should get. */
  unexpected: readonly string[]
  longestGapMs(): number
  /** Starts no new request and completes the open ones, within this time. */
  stop(withinMs: number): Promise<void>
}

interface Client {
  email: string
  token: string
}

/** Each client has its own customer, so that they do not wait for each other's row lock. */
export async function makeClients(api: Api): Promise<Client[]> {
  return Promise.all(
    Array.from({ length: WRITERS }, async (_, n) => {
      const customer = { ...CUSTOMER, email: `writer-${n}@example.com` }
      return { email: customer.email, token: await saveMethod(api, 'card_success', { customer }) }
    }),
  )
}

// About the Retry-After of a 503, but shorter.
const RETRY_MS = 50

export function startLoad(api: Api, clients: readonly Client[]): Load {
  const acknowledged: Acknowledgement[] = []
  const unexpected: string[] = []
  let unanswered = 0
  let isOver = false
  let stopAt = Number.POSITIVE_INFINITY
  let lastAt = performance.now()
  let longestGapMs = 0

  const acknowledge = ({ body }: ApiResponse) => {
    const now = performance.now()
    longestGapMs = Math.max(longestGapMs, now - lastAt)
    lastAt = now
    acknowledged.push({ uuid: body.data.uuid, status: body.data.status })
  }

  const retryUntilAccepted = async (path: string, body: unknown) => {
    while (performance.now() < stopAt) {
      const answer = await api.post(path, body).catch(() => undefined)
      if (answer?.http === 201) return acknowledge(answer)
      unanswered += 1
      if (answer && answer.http !== 503) unexpected.push(answer.text)
      await delay(RETRY_MS)
    }
  }

  const write = async ({ email, token }: Client) => {
    const customer = { ...CUSTOMER, email }
    while (!isOver) {
      await retryUntilAccepted('/api/v1/checkout/initiate-payment', initiateBody({ customer }))
      if (!isOver) await retryUntilAccepted('/api/v1/charges/recurring', chargeBody(token, { customer }))
    }
  }

  const running = Promise.all(clients.map(write))
  return {
    acknowledged,
    unexpected,
    unanswered: () => unanswered,
    longestGapMs: () => Math.max(longestGapMs, isOver ? 0 : performance.now() - lastAt),
    async stop(withinMs) {
      longestGapMs = Math.max(longestGapMs, performance.now() - lastAt)
      isOver = true
      stopAt = performance.now() + withinMs
      await running
    },
  }
}
