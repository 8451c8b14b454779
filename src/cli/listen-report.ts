// The output of `cowry listen`: a growing table for people, or one JSON document per line for scripts.

import type { Clock } from '../kit/clock.ts'
import type { StreamedEvent } from './event-stream.ts'
import type { Forwarded } from './forward.ts'
import { colorize, type Terminal } from './terminal.ts'

export interface ListenStart {
  /** The address of the service. */
  url: string
  merchantKey: string
  forwardTo: string | null
  secret: string | null
}

export interface Totals {
  events: number
  /** Responses with 2xx. */
  accepted: number
  /** Other responses, and no response. */
  refused: number
}

export interface ListenReport {
  begin(facts: ListenStart): void
  event(event: StreamedEvent, forwarded: Forwarded | null): void
  /** A change of a connection, reported once. */
  notice(message: string): void
  end(totals: Totals): void
}

export const isAccepted = ({ http }: Forwarded): boolean => http !== null && http >= 200 && http < 300

const COLUMNS = { time: 8, event: 26, resource: 55, answer: 9, ms: 6 }

export function textReport(terminal: Terminal, clock: Clock, printJson: boolean): ListenReport {
  const line = (...cells: string[]) => terminal.out(`${cells.join('  ').trimEnd()}\n`)
  return {
    begin({ url, merchantKey, forwardTo, secret }) {
      line(`Listening to the events of ${merchantKey} at ${url}`)
      line(
        forwardTo === null
          ? 'Events are only printed; --forward-to sends them on.'
          : `Events are sent to ${forwardTo}`,
      )
      if (secret !== null) line(`Signing secret: ${colorize(terminal, 'bold', secret)}`)
      if (secret !== null)
        line('The secret stays the same for this data folder, so set it once in your consumer.')
      line('Press Ctrl-C to stop.')
      line()
      line(colorize(terminal, 'bold', headings(forwardTo !== null)))
    },
    event(event, forwarded) {
      const { type, resource } = event
      const cells = [
        colorize(terminal, 'gray', timeOf(event.createdAt)),
        colorize(terminal, 'cyan', type.padEnd(COLUMNS.event)),
        `${resource.type} ${resource.uuid} v${resource.version}`.padEnd(COLUMNS.resource),
      ]
      line(...cells, ...(forwarded ? responseCells(terminal, forwarded) : []))
      if (printJson) line(JSON.stringify(event, null, 2))
    },
    notice(message) {
      line(
        colorize(terminal, 'gray', timeOf(clock.now().toISOString())),
        colorize(terminal, 'yellow', message),
      )
    },
    end(totals) {
      line()
      line(totalsText(totals))
    },
  }
}

function headings(isForwarding: boolean): string {
  const names = ['TIME', 'EVENT', 'RESOURCE', ...(isForwarding ? ['ANSWER', 'MS'] : [])]
  return names
    .map((name, index) => name.padEnd(Object.values(COLUMNS)[index] ?? 0))
    .join('  ')
    .trimEnd()
}

function responseCells(terminal: Terminal, forwarded: Forwarded): string[] {
  const text = (forwarded.http === null ? 'no answer' : String(forwarded.http)).padEnd(COLUMNS.answer)
  return [colorize(terminal, isAccepted(forwarded) ? 'green' : 'red', text), String(forwarded.durationMs)]
}

/** In the local time zone of the user. */
function timeOf(iso: string): string {
  return new Date(iso).toTimeString().slice(0, COLUMNS.time)
}

function totalsText({ events, accepted, refused }: Totals): string {
  const count = `${events} ${events === 1 ? 'event' : 'events'}`
  return accepted + refused === 0 ? `${count}.` : `${count}: ${accepted} accepted, ${refused} not.`
}

export function jsonReport(terminal: Terminal): ListenReport {
  const line = (kind: string, facts: object) => terminal.out(`${JSON.stringify({ kind, ...facts })}\n`)
  return {
    begin: (facts) => line('listening', facts),
    event: (event, forwarded) => line('event', { event, answer: forwarded }),
    notice: (message) => line('notice', { message }),
    end: (totals) => line('ended', totals),
  }
}
