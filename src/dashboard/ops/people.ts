// The people who can sign in: operators and the members of all merchants. Inviting an operator, and the end of an account.

import type { Static } from 'typebox'
import type { ApiError } from '../../core/errors.ts'
import { type Html, html } from '../../kit/http/html.ts'
import type { UserRecord } from '../../people/users/schema.ts'
import { badge, empty, field, notice, table, written } from '../frame/components.ts'
import { orShowProblem } from '../frame/form-input.ts'
import { listScreens } from '../frame/list-screen.ts'
import type { AreaRequest, Screen, ScreenResponse } from '../frame/screen.ts'
import type { TextId } from '../locales/en.ts'
import { dataOf } from './data.ts'
import { MERCHANTS_PATH } from './merchants.ts'

type User = Static<typeof UserRecord>

interface Invitation {
  uuid: string
  email: string
  createdAt: string
  expiresAt: string
}

const PATH = '/ops/people'
const INVITE = '/people/invite'

export const peopleScreens: Screen<AreaRequest>[] = [
  ...listScreens<User, AreaRequest>({
    path: '/people',
    title: 'opsPeople',
    list: 'users.list',
    filters: [
      { name: 'kind', label: 'opsKind', values: ['operator', 'member'], prefix: 'userKind' },
      { name: 'email', label: 'email' },
    ],
    columns: (texts, request) => [
      {
        label: texts.t('person'),
        isTitle: true,
        cell: ({ name, email }) => html`${written(name)}<span class="sub">${written(email)}</span>`,
      },
      {
        label: texts.t('opsKind'),
        cell: ({ kind, merchants }) => kindOf(texts.word('userKind', kind), merchants),
      },
      {
        label: texts.t('status'),
        cell: ({ disabledAt }) => badge(texts, disabledAt ? 'disabled' : 'active'),
      },
      {
        label: texts.t('secondFactor'),
        cell: ({ hasSecondFactor }) => texts.t(hasSecondFactor ? 'on' : 'off'),
      },
      { label: texts.t('since'), cell: ({ createdAt }) => texts.time(createdAt) },
      { label: texts.t('actions'), cell: (user) => statusForm(request, user) },
    ],
    intro: async ({ query, texts: { t } }) =>
      query.done === 'saved' ? notice('good', html`<p>${t('done_saved')}</p>`) : null,
    emptyTitle: 'opsNoPeopleTitle',
    emptyText: 'opsNoPeopleText',
    actions: ({ texts: { t } }) =>
      html`<a class="button" href="${PATH}/invite">${t('opsInviteOperator')}</a>`,
    outro: openInvitations,
  }),
  {
    method: 'GET',
    path: INVITE,
    needs: ['operatorInvitations.create'],
    stepUp: true,
    handle: async (request) => invitePage(request),
  },
  {
    method: 'POST',
    path: INVITE,
    needs: ['operatorInvitations.create'],
    stepUp: true,
    once: () => PATH,
    handle: invite,
  },
  {
    method: 'POST',
    path: '/people/invitations/{uuid}/revoke',
    needs: ['operatorInvitations.revoke'],
    stepUp: true,
    handle: (request) => change(request, 'operatorInvitations.revoke'),
  },
  {
    method: 'POST',
    path: '/people/{uuid}/disable',
    needs: ['users.disable'],
    stepUp: true,
    handle: (request) => change(request, 'users.disable'),
  },
  {
    method: 'POST',
    path: '/people/{uuid}/enable',
    needs: ['users.enable'],
    stepUp: true,
    handle: (request) => change(request, 'users.enable'),
  },
]

function kindOf(kind: string, merchants: readonly string[]): Html {
  return html`${kind}${merchants.map((uuid) => html`<span class="sub"><a href="${MERCHANTS_PATH}/${uuid}"><code>${uuid.slice(0, 8)}</code></a></span>`)}`
}

/** Not for one's own account, which would be ended by mistake. */
function statusForm({ texts: { t }, principal, postForm }: AreaRequest, user: User): Html | false {
  const { uuid, name, disabledAt } = user
  if (uuid === principal.user.id) return false
  if (disabledAt)
    return postForm(`${PATH}/${uuid}/enable`, html`<button class="plain small">${t('opsEnable')}</button>`)
  return html`<details><summary>${t('change')}</summary>${postForm(`${PATH}/${uuid}/disable`, html`<p>${t('opsDisableText', { name })}</p><button class="danger small">${t('opsDisable')}</button>`)}</details>`
}

async function change(
  request: AreaRequest,
  operation: 'users.disable' | 'users.enable' | 'operatorInvitations.revoke',
) {
  await request.call(operation, { params: { uuid: request.params.uuid ?? '' } })
  return { redirectTo: `${PATH}?done=saved` }
}

/** Those of merchants are under their teams. */
async function openInvitations(request: AreaRequest): Promise<Html> {
  const { texts, postForm } = request
  const { t } = texts
  const title = t('opsInvitationsTitle')
  const invitations = await dataOf<Invitation[]>(request, 'operatorInvitations.list')
  const revokeForm = (uuid: string) =>
    postForm(
      `${PATH}/invitations/${uuid}/revoke`,
      html`<button class="plain small">${t('revokeInvitation')}</button>`,
    )
  return html`<h2>${title}</h2>${
    invitations.length === 0
      ? empty(t('noInvitationsTitle'), t('noInvitationsText'))
      : table(
          title,
          [
            { label: t('email'), isTitle: true, cell: ({ email }) => written(email) },
            { label: t('created'), cell: ({ createdAt }) => texts.time(createdAt) },
            { label: t('validUntil'), cell: ({ expiresAt }) => texts.time(expiresAt) },
            { label: t('actions'), cell: ({ uuid }) => revokeForm(uuid) },
          ],
          invitations,
        )
  }`
}

function invitePage(request: AreaRequest, result?: { body: Html; http: number }): ScreenResponse {
  const { texts, form, postForm } = request
  const { t } = texts
  const title = t('opsInviteOperator')
  const isDone = result?.http === 201
  const fields = html`${field('email', t('email'), { type: 'email', value: isDone ? '' : (form.email ?? ''), isRequired: true, autocomplete: 'off' })}<button>${t('opsInvite')}</button>`
  const body = html`<div class="head"><h1>${title}</h1></div>${result?.body}
<section class="card narrow"><p>${t('opsInviteOperatorText')}</p>${postForm(`${PATH}/invite`, fields)}<p><a href="${PATH}">${t('back')}</a></p></section>`
  return { title, body, http: result?.http ?? 200 }
}

/** The link is only in this response: it is not shown again. */
function invite(request: AreaRequest) {
  const { texts, form } = request
  return orShowProblem(
    async () => {
      const { link, email } = await dataOf<{ link: string; email: string }>(
        request,
        'operatorInvitations.create',
        { body: { email: form.email ?? '' } },
      )
      const body = notice('good', html`<p>${texts.t('opsInvited', { email })}</p><p><code>${link}</code></p>`)
      return invitePage(request, { body, http: 201 })
    },
    async (problem) =>
      invitePage(request, { body: notice('bad', html`<p>${reasonOf(problem, request)}</p>`), http: 422 }),
  )
}

/** By the code of the issue. */
const REASONS: Readonly<Record<string, TextId>> = {
  already_invited: 'opsAlreadyInvited',
  already_operator: 'opsAlreadyOperator',
  already_member: 'opsAlreadyMember',
}

function reasonOf({ details: [issue], message }: ApiError, { form, texts: { t } }: AreaRequest): string {
  const reason = REASONS[issue?.code ?? '']
  return reason ? t(reason, { email: form.email ?? '' }) : message
}
