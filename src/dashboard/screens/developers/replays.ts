// Sends the events of a period to one endpoint again, such as after an outage of it, and shows how far that is.

import type { Static } from 'typebox'
import type { ApiError } from '../../../core/errors.ts'
import type { ReplayRecord } from '../../../deliveries/schema.ts'
import { addMs } from '../../../kit/clock.ts'
import { html } from '../../../kit/http/html.ts'
import { dayIn, startOfDay, startOfNextDay } from '../../../kit/time-zone.ts'
import { facts, field, problemNotice, tick, written } from '../../frame/components.ts'
import { fieldErrors, orShowProblem } from '../../frame/form-input.ts'
import type { Screen, ScreenRequest } from '../../frame/screen.ts'
import { type Endpoint, loadEndpoint } from './endpoints.ts'
import { developerTabs, ENDPOINTS_PATH } from './tabs.ts'

type Replay = Static<typeof ReplayRecord>

const ASK = '/developers/endpoints/{uuid}/replay'
const WEEK_MS = 7 * 24 * 3_600_000

export const replayScreens: Screen[] = [
  {
    method: 'GET',
    path: ASK,
    needs: ['events.replayPeriod', 'events.getReplay'],
    handle: async (request) => {
      const endpoint = await loadEndpoint(request)
      return request.query.replay ? progress(request, endpoint) : ask(request, endpoint)
    },
  },
  { method: 'POST', path: ASK, needs: ['events.replayPeriod'], handle: replay },
]

const addressOf = ({ uuid }: Endpoint) => `${ENDPOINTS_PATH}/${uuid}/replay`
const progressAddress = (endpoint: Endpoint, { uuid }: Replay) => `${addressOf(endpoint)}?replay=${uuid}`

function ask(request: ScreenRequest, endpoint: Endpoint, problem?: ApiError) {
  const { texts, form, now, postForm } = request
  const { t, zone } = texts
  const errors = fieldErrors(problem)
  const first = endpoint.failingSince ?? addMs(now, -WEEK_MS).toISOString()
  const from = { value: form.from ?? dayIn(first, zone), type: 'date', isRequired: true, error: errors.from }
  const to = { value: form.to ?? dayIn(now.toISOString(), zone), type: 'date', isRequired: true }
  const isMissedOnly = problem === undefined || form.onlyUndelivered === 'on'
  const body = html`<div class="head"><h1>${t('replayTitle')}</h1></div>${developerTabs(request, ENDPOINTS_PATH)}${problemNotice(problem)}
<section class="card"><p>${written(endpoint.url)}</p><p class="dim">${t('replayText')}</p>${postForm(
    addressOf(endpoint),
    html`${field('from', t('from'), from)}${field('to', t('to'), { ...to, error: errors.to })}${tick('onlyUndelivered', t('replayMissed'), isMissedOnly)}<button>${t('replaySend')}</button>`,
  )}</section>`
  return { title: t('replayTitle'), body, http: problem ? 422 : 200 }
}

async function replay(request: ScreenRequest) {
  const { call, form, texts, submission } = request
  const endpoint = await loadEndpoint(request)
  const body = {
    endpoint: endpoint.uuid,
    from: startOfDay(form.from ?? '', texts.zone),
    to: startOfNextDay(form.to ?? '', texts.zone),
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
  const params = { uuid: query.replay ?? '' }
  // A boundary: the operation returns a record of this schema.
  const found = (await call('events.getReplay', { params })).data as Replay
  const body = html`<div class="head"><h1>${t('replayTitle')}</h1></div>${developerTabs(request, ENDPOINTS_PATH)}
<section class="card"><p>${t(found.status === 'done' ? 'replayDone' : 'replayQueued')}</p>${facts([
    [t('replayEvents'), texts.number(found.events)],
    [t('deliveries'), texts.number(found.deliveries)],
    [t('created'), texts.time(found.createdAt)],
  ])}${found.status !== 'done' && html`<p><a class="button plain" href="${progressAddress(endpoint, found)}">${t('replayLook')}</a></p>`}</section>`
  return { title: t('replayTitle'), body }
}
