// The team: members and their roles, invitations, and what each role may do.

import { type Html, html } from '../../kit/http/html.ts'
import { PeopleError } from '../../people/errors.ts'
import { teamOf } from '../../people/team.ts'
import { empty, field, notice, select, table, written } from '../frame/components.ts'
import type { Screen, ScreenRequest, ScreenResponse } from '../frame/screen.ts'
import { linkOf, mailInvitation } from '../mails.ts'

const PATH = '/app/team'
const CHANGES = { method: 'POST', needs: [], scope: 'team:write', stepUp: true } as const

export const teamScreens: Screen[] = [
  { method: 'GET', path: '/team', needs: [], scope: 'team:read', handle: (request) => show(request) },
  { ...CHANGES, path: '/team/invite', handle: (request) => invite(request) },
  {
    ...CHANGES,
    path: '/team/members/{uuid}/role',
    handle: (request) =>
      save(request, () => ownTeam(request).changeRole(idOf(request), request.form.role ?? '')),
  },
  {
    ...CHANGES,
    path: '/team/members/{uuid}/remove',
    handle: (request) => save(request, () => ownTeam(request).remove(idOf(request))),
  },
  {
    ...CHANGES,
    path: '/team/invitations/{uuid}/revoke',
    handle: (request) => save(request, () => ownTeam(request).revoke(idOf(request))),
  },
]

const ownTeam = ({ app, principal }: ScreenRequest) => teamOf(app, principal)
type Team = ReturnType<typeof teamOf>
type Member = Awaited<ReturnType<Team['members']>>[number]
type Invited = Awaited<ReturnType<Team['invite']>> & { isMailed: boolean }

const idOf = ({ params: { uuid = '' } }: ScreenRequest) => uuid

async function save(request: ScreenRequest, work: () => Promise<void>): Promise<ScreenResponse> {
  try {
    await request.change(async () => work())
    return { redirectTo: `${PATH}?done=saved` }
  } catch (error) {
    if (!(error instanceof PeopleError)) throw error
    return show(request, { problem: error })
  }
}

/** The link is mailed; without a mail server, it is only in this response, and not shown again. */
async function invite(request: ScreenRequest): Promise<ScreenResponse> {
  const { app, form, change, submission, person, texts } = request
  try {
    const { email = '', role = '' } = form
    const invited = await change(async () => ownTeam(request).invite(email, role, submission))
    const isMailed = await mailInvitation(app, invited, { merchantName: person.merchant.name, texts })
    return await show(request, { invited: { ...invited, isMailed } })
  } catch (error) {
    if (!(error instanceof PeopleError)) throw error
    return show(request, { problem: error })
  }
}

interface Outcome {
  problem?: PeopleError
  invited?: Invited
}

async function show(request: ScreenRequest, { problem, invited }: Outcome = {}): Promise<ScreenResponse> {
  const { texts, query, change } = request
  const team = ownTeam(request)
  const { t } = texts
  const [members, invitations] = await change(() => Promise.all([team.members(), team.invitations()]))
  const body = html`<div class="head"><h1>${t('teamTitle')}</h1></div>
${query.done && notice('good', html`<p>${t('done_saved')}</p>`)}
${problem && notice('bad', html`<p>${texts.word('people', problem.code)}</p>`)}
${invited && invitedNotice(request, invited)}
${memberTable(request, byRights(request, members))}
${mayWrite(request) && inviteForm(request, invited !== undefined)}
<h2>${t('invitationsTitle')}</h2>${
    invitations.length === 0
      ? empty(t('noInvitationsTitle'), t('noInvitationsText'))
      : table(
          t('invitationsTitle'),
          [
            { label: t('email'), isTitle: true, cell: ({ email }) => written(email) },
            { label: t('role'), cell: ({ role }) => texts.word('role', role) },
            { label: t('validUntil'), cell: ({ expiresAt }) => texts.time(expiresAt.toISOString()) },
            { label: t('actions'), cell: ({ id }) => mayWrite(request) && revokeForm(request, id) },
          ],
          invitations,
        )
  }
<h2>${t('rolesTitle')}</h2>${roleTable(request)}`
  return { title: t('teamTitle'), body, http: problem?.http ?? 200 }
}

/** Those with the most rights first, and by name. */
function byRights(request: ScreenRequest, members: readonly Member[]): Member[] {
  const roles = ownTeam(request).roles.map(({ role }) => role)
  return members.toSorted(
    (one, other) => roles.indexOf(one.role) - roles.indexOf(other.role) || one.name.localeCompare(other.name),
  )
}

const mayWrite = (request: ScreenRequest) => ownTeam(request).mayChange

function invitedNotice({ app, texts: { t } }: ScreenRequest, invited: Invited): Html {
  if (invited.isMailed) return notice('good', html`<p>${t('invitedMailed', { email: invited.email })}</p>`)
  const link = linkOf(app, 'join', invited.token)
  return notice(
    'good',
    html`${app.mailer && html`<p>${t('invitedNotMailed')}</p>`}<p>${t('invitedText', { email: invited.email })}</p><p class="mono"><code>${link}</code></p><button type="button" class="plain small" hidden data-copy="${link}" data-copied="${t('copied')}">${t('copyLink')}</button>`,
  )
}

/** The roles that the person may give: those whose rights are a part of their own. */
function roleChoices(request: ScreenRequest) {
  const grantable = ownTeam(request).roles.filter(({ isGrantable }) => isGrantable)
  return grantable.map(({ role: value }) => ({ value, label: request.texts.word('role', value) }))
}

function memberTable(request: ScreenRequest, members: readonly Member[]): Html {
  const { texts } = request
  const { t } = texts
  return table(
    t('teamTitle'),
    [
      {
        label: t('person'),
        isTitle: true,
        cell: ({ name, email }) => html`${written(name)}<span class="sub">${written(email)}</span>`,
      },
      { label: t('role'), cell: ({ role }) => texts.word('role', role) },
      { label: t('secondFactor'), cell: ({ hasSecondFactor }) => t(hasSecondFactor ? 'on' : 'off') },
      { label: t('since'), cell: ({ since }) => texts.time(since.toISOString()) },
      { label: t('actions'), cell: (member) => memberForms(request, member) },
    ],
    members,
  )
}

/** Another person changes one's own role; to leave is on the same page. */
function memberForms(request: ScreenRequest, { userId, role, name }: Member): Html | false {
  const { texts, principal, postForm } = request
  const { t } = texts
  const choices = roleChoices(request)
  if (!mayWrite(request) || !choices.some(({ value }) => value === role)) return false
  const path = `${PATH}/members/${userId}`
  return html`<details><summary>${t('change')}</summary>${
    userId !== principal.user.id &&
    postForm(
      `${path}/role`,
      html`${select('role', t('role'), role, choices, `role-${userId}`)}<button class="plain small">${t('saveRole')}</button>`,
    )
  }${postForm(`${path}/remove`, html`<p>${t('removeText', { name })}</p><button class="danger small">${t('removeMember')}</button>`)}</details>`
}

function inviteForm(request: ScreenRequest, isDone: boolean): Html {
  const { texts, postForm, form } = request
  const { t } = texts
  return html`<section class="card"><h2>${t('inviteTitle')}</h2>${postForm(
    `${PATH}/invite`,
    html`${field('email', t('email'), { type: 'email', value: isDone ? '' : (form.email ?? ''), isRequired: true, autocomplete: 'off' })}<div class="field">${select('role', t('role'), form.role ?? 'viewer', roleChoices(request))}</div><button>${t('inviteButton')}</button>`,
  )}</section>`
}

function revokeForm({ texts: { t }, postForm }: ScreenRequest, id: string): Html {
  return postForm(
    `${PATH}/invitations/${id}/revoke`,
    html`<button class="plain small">${t('revokeInvitation')}</button>`,
  )
}

/** In words, and by the scopes in the code. */
function roleTable(request: ScreenRequest): Html {
  const { texts } = request
  const { t } = texts
  return table(
    t('rolesTitle'),
    [
      { label: t('role'), isTitle: true, cell: ({ role }) => texts.word('role', role) },
      { label: t('may'), cell: ({ role }) => texts.word('roleMay', role) },
      {
        label: t('scopes'),
        cell: ({ scopes }) =>
          html`<details><summary>${texts.number(scopes.length)}</summary><code>${scopes.join(' ')}</code></details>`,
      },
    ],
    ownTeam(request).roles,
  )
}
