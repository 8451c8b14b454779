// Sends the events of a period to one endpoint again, such as after an outage of it, and shows how far that is.

import type { Static } from 'typebox'
import type { ApiError } from '../../../core/errors.ts'
import type { ReplayOutcome } from '../../../deliveries/failures/failure.ts'
import type { ReplayRecord } from '../../../deliveries/schema.ts'
import { addMs } from '../../../kit/clock.ts'
import { html } from '../../../kit/http/html.ts'
import { minuteIn, momentOf } from '../../../kit/time-zone.ts'
import { addressWith, facts, field, problemNotice, tick, written } from '../../frame/components.ts'
import { fieldErrors, orShowProblem } from '../../frame/form-input.ts'
import type { Screen, ScreenRequest } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
import { type Endpoint, loadEndpoint } from './endpoints.ts'
import { DELIVERIES_PATH, developerTabs, ENDPOINTS_PATH } from './tabs.ts'

type Replay = Static<typeof ReplayRecord>

const ASK = '/developers/endpoints/{uuid}/replay'
const WEEK_MS = 7 * 24 * 3_600_000
const MINUTE_MS = 60_000

export const replayScreens: Screen[] = [
  {
    method: 'GET',
    path: ASK,
    needs: ['events.replayPeriod', 'events.getReplay', 'events.replayOutcome'],
    handle: async (request) => {
      const endpoint = await loadEndpoint(request)
      return request.query.replay ? progress(request, endpoint) : ask(request, endpoint)
    },
  },
  { method: 'POST', path: ASK, needs: ['events.replayPeriod'], handle: replay },
]

const addressOf = ({ uuid }: Endpoint) => `${ENDPOINTS_PATH}/${uuid}/replay`

const progressAddress = (endpoint: Endpoint, { uuid }: Replay) =>
  addressWith(addressOf(endpoint), {}, { replay: uuid })

function ask(request: ScreenRequest, endpoint: Endpoint, problem?: ApiError) {
  const { texts, form, now, postForm } = request
  const { t, zone } = texts
  const labels = { from: t('from'), to: t('to') }
  const errors = fieldErrors(problem, labels)
  const first = endpoint.failingSince ?? addMs(now, -WEEK_MS).toISOString()
  // The minute that has begun is a part of the period.
  const last = addMs(now, MINUTE_MS).toISOString()
  const common = { type: 'datetime-local', isRequired: true }
  const from = { ...common, value: form.from ?? minuteIn(first, zone), error: errors.from }
  const to = { ...common, value: form.to ?? minuteIn(last, zone), error: errors.to }
  const isMissedOnly = problem === undefined || form.onlyUndelivered === 'on'
  const body = html`<div class="head"><h1>${t('replayTitle')}</h1></div>${developerTabs(request, ENDPOINTS_PATH)}${problemNotice(problem, labels)}
<section class="card"><p>${written(endpoint.url)}</p><p class="dim">${t('replayText')}</p>${postForm(
    addressOf(endpoint),
    html`${field('from', labels.from, from)}${field('to', labels.to, to)}${tick('onlyUndelivered', t('replayMissed'), isMissedOnly)}<button>${t('replaySend')}</button>`,
  )}</section>`
  return { title: t('replayTitle'), body, http: problem ? 422 : 200 }
}

async function replay(request: ScreenRequest) {
  const { call, form, texts, submission } = request
  const endpoint = await loadEndpoint(request)
  const body = {
    endpoint: endpoint.uuid,
    from: momentOf(form.from ?? '', texts.zone),
    to: momentOf(form.to ?? '', texts.zone),
    onlyUndelivered: form.onlyUndelivered === 'on',
  }
  return orShowProblem(
    async () => {
      // A boundary: the operation returns a record of this schema.
      const made = (await call('events.replayPeriod', { body, idempotencyKey: submission })).data as Replay
      return { redirectTo: progressAddress(endpoint, made) }
    },
    (problem) => ask(request, endpoint, problem),
  )
}

async function progress(request: ScreenRequest, endpoint: Endpoint) {
  const { call, query, texts } = request
  const { t } = texts
  const input = { params: { uuid: query.replay ?? '' } }
  const [replay, outcome] = await Promise.all([
    call('events.getReplay', input),
    call('events.replayOutcome', input),
  ])
  // A boundary: the operations return records of these types.
  const found = replay.data as Replay
  const counts = outcome.data as ReplayOutcome
  const isOver = found.status === 'done' && counts.waiting + counts.failing === 0
  const body = html`<div class="head"><h1>${t('replayTitle')}</h1></div>${developerTabs(request, ENDPOINTS_PATH)}
<section class="card"><h2><a href="${ENDPOINTS_PATH}/${endpoint.uuid}">${written(endpoint.url)}</a></h2><p>${t(found.status === 'done' ? 'replayDone' : 'replayQueued')}</p>${facts(
    [
      [t('from'), texts.time(counts.from)],
      [t('to'), texts.time(counts.to)],
      [t('replayEvents'), texts.number(found.events)],
      [t('deliveries'), texts.number(found.deliveries)],
      ...outcomeFacts(counts, texts),
      [t('created'), texts.time(found.createdAt)],
    ],
  )}${counts.isCapped && html`<p class="dim">${t('replayCapped')}</p>`}
<p>${!isOver && html`<a class="button plain" href="${progressAddress(endpoint, found)}">${t('replayLook')}</a> `}<a href="${DELIVERIES_PATH}?endpoint=${endpoint.uuid}">${t('failedDeliveriesTitle')}</a></p></section>`
  return { title: t('replayTitle'), body }
}

/** What became of the deliveries of this replay so far. */
function outcomeFacts({ delivered, waiting, failing, dead }: ReplayOutcome, { t, number }: Texts) {
  return [
    [t('replayAccepted'), number(delivered)],
    [t('replayWaiting'), number(waiting)],
    [t('status_failing'), number(failing)],
    [t('replayDead'), number(dead)],
  ] as const
}
