// Live parts of a page: server-sent events say that a record of the merchant changed, and the script loads the parts again.
// The stream has ids alone. Without it every page is as it was when it was loaded.

import { isUuid } from '../../core/ids.ts'
import { addMs } from '../../kit/clock.ts'
import { type Html, html } from '../../kit/http/html.ts'
import type { PageRoute } from '../../kit/http/route.ts'
import type { DashboardApp } from '../app.ts'
import { type PageRequest, readPrincipal } from './request.ts'
import type { ScreenRequest } from './screen.ts'

const LIVE_PATH = '/app/live'

/** The stream ends then, and the browser opens it again, so a session that was ended gets no more. */
const STREAM_MS = 60_000
/** Proxies close a connection without traffic. */
const KEEP_ALIVE_MS = 15_000
/** Browsers open about six connections to a server, and the next page needs one of them. */
const MOST_OF_SESSION = 3
const MOST_OF_PROCESS = 500
const MOST_QUEUED = 200

/** Marks the page as live. `of`: the id of the record it is about, `list` for new payments, or `all`. */
export function liveMark({ now, allows }: ScreenRequest, of: string): Html | null {
  if (!allows('payments.listAll')) return null
  return html`<span hidden data-live="${of}" data-stream="${LIVE_PATH}?since=${now.toISOString()}"></span>`
}

/** 204 tells the browser not to try again. */
const NO_STREAM = { http: 204, content: { type: 'text/plain', body: '' } }

export function liveRoute(app: DashboardApp): PageRoute {
  const open = new Map<string, Set<() => void>>()
  return {
    method: 'GET',
    path: LIVE_PATH,
    handle: async (request) => {
      const principal = await readPrincipal(app, request, { isPassive: true })
      if (!principal?.merchant || principal.merchant.status === 'suspended') return NO_STREAM
      const { merchant, sessionId } = principal
      const count = [...open.values()].reduce((sum, { size }) => sum + size, 0)
      if (!app.operations.allows(principal, 'payments.listAll') || count >= MOST_OF_PROCESS) return NO_STREAM
      const own = open.get(sessionId) ?? new Set()
      open.set(sessionId, own)
      // The page that was opened first is probably closed, and its connection is not yet.
      const [oldest] = own
      if (own.size >= MOST_OF_SESSION) oldest?.()
      const after = startOf(request, app.clock.now())
      const stream = openStream(app, merchant.id, after, () => {
        own.delete(stream.replace)
        if (own.size === 0) open.delete(sessionId)
      })
      own.add(stream.replace)
      return { http: 200, stream: { type: 'text/event-stream', pieces: stream.pieces } }
    },
  }
}

/** The time of the last event that the browser got, or of the page. */
function startOf({ headers, query }: PageRequest, now: Date): Date {
  const lastId = headers['last-event-id']
  // An id begins with its time.
  if (isUuid(lastId)) return new Date(Number.parseInt(lastId.replace('-', '').slice(0, 12), 16) + 1)
  const time = new Date(query.since ?? '')
  return Number.isNaN(time.getTime()) ? now : time
}

/** Written by hand: a generator that waits could not be ended when the browser disconnects. */
function openStream({ changes, clock }: DashboardApp, merchantId: string, after: Date, onEnd: () => void) {
  const endsAt = addMs(clock.now(), STREAM_MS)
  const queue = ['retry: 3000\n\n']
  let waiting = new AbortController()
  let isEnded = false
  const unsubscribe = changes.subscribe(merchantId, after, ({ id, resourceType, resourceId, version }) => {
    if (queue.length >= MOST_QUEUED) return end()
    queue.push(`id: ${id}\ndata: ${JSON.stringify({ of: resourceId, type: resourceType, version })}\n\n`)
    waiting.abort()
  })
  function end(): void {
    if (isEnded) return
    isEnded = true
    unsubscribe()
    onEnd()
    waiting.abort()
  }
  /** The script opens it no more: two pages would end each other's for ever. */
  const replace = (): void => {
    queue.push('event: end\ndata:\n\n')
    end()
  }
  const next = async (): Promise<IteratorResult<string>> => {
    if (queue.length === 0 && !isEnded) {
      waiting = new AbortController()
      await clock.sleep(KEEP_ALIVE_MS, waiting.signal)
    }
    if (queue.length > 0) return { done: false, value: queue.splice(0).join('') }
    if (clock.now() >= endsAt) end()
    return isEnded ? { done: true, value: undefined } : { done: false, value: ': \n\n' }
  }
  const close = async () => {
    end()
    return { done: true as const, value: undefined }
  }
  const pieces = { [Symbol.asyncIterator]: () => ({ next, return: close, throw: close }) }
  return { pieces, replace }
}
