// A merchant's server that knows what to do about a bad network: it asks again, at the other process, with the same body
// and the same key, until it has an answer that means something.

import { setTimeout as delay } from 'node:timers/promises'

export interface Asked {
  method: 'GET' | 'POST'
  path: string
  body?: unknown
  key?: string
  /** Whether the record is what was asked for; absent: any is. */
  isEnough?(data: Answered['data']): boolean
  /** The code of the refusal that says that an earlier try has done it. */
  doneCode?: string
}

export interface Answered {
  /** Null when it was refused. */
  // biome-ignore lint/suspicious/noExplicitAny: every operation answers a record of its own
  data: any
}

export interface Client {
  /** Asks until it is answered; undefined when there was no answer before the end. */
  persist(asked: Asked): Promise<Answered | undefined>
  /** Asks once, and goes away without an answer if there is none. */
  askOnce(asked: Asked): Promise<Answered | undefined>
}

export interface ClientNeeds {
  apiUrls: readonly string[]
  apiKey: string
  /** When nobody waits for an answer any more. */
  isOver(): boolean
  /** Told of answers that nobody should ever get. */
  complain(words: string): void
  /** Told of every answer, and of every one that did not come. */
  count(what: string): void
}

// Longer than a charge whose gateway does not answer, shorter than people wait.
const ANSWER_MS = 6_000
const FIRST_REST_MS = 100
const LONGEST_REST_MS = 1_000

export function createClient(needs: ClientNeeds, first: number): Client {
  let turn = first
  const ask = async (asked: Asked): Promise<Answered | 'again'> => {
    turn += 1
    const url = needs.apiUrls[turn % needs.apiUrls.length] ?? ''
    const answer = await send(`${url}${asked.path}`, needs.apiKey, asked)
    needs.count('trouble' in answer ? answer.trouble : String(answer.http))
    if ('trouble' in answer) return 'again'
    const { http, text } = answer
    const { data, error } = parse(text)
    if (http >= 200 && http < 300) return asked.isEnough?.(data) === false ? 'again' : { data }
    // An error of our own is retryable too, and still nobody should get one.
    if (http >= 500 && http !== 503) needs.complain(`${asked.method} ${asked.path}: ${http} ${text}`)
    if (error?.retryable === true) return 'again'
    if (error?.code !== asked.doneCode) needs.complain(`${asked.method} ${asked.path}: ${http} ${text}`)
    return { data: null }
  }
  return {
    async askOnce(asked) {
      const answer = await ask(asked)
      return answer === 'again' ? undefined : answer
    },
    async persist(asked) {
      for (let restMs = FIRST_REST_MS; !needs.isOver(); restMs = Math.min(2 * restMs, LONGEST_REST_MS)) {
        const answer = await ask(asked)
        if (answer !== 'again') return answer
        await delay(restMs)
      }
      needs.complain(`${asked.method} ${asked.path} was never answered`)
      return undefined
    },
  }
}

async function send(
  url: string,
  apiKey: string,
  { method, body, key }: Asked,
): Promise<{ http: number; text: string } | { trouble: string }> {
  try {
    const answer = await fetch(url, {
      method,
      headers: {
        'x-api-key': apiKey,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(ANSWER_MS),
    })
    return { http: answer.status, text: await answer.text() }
  } catch (error) {
    // Refused, reset, cut or too late: what became of it nobody knows.
    const { name, cause } = error as Error & { cause?: { code?: string } }
    return { trouble: cause?.code ?? name }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: every operation answers a record of its own
function parse(text: string): any {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
