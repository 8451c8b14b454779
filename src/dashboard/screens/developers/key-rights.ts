// The rights that a person may give to a key: presets, and every scope with what it allows.

import { grantableScopes, grantsScope, SCOPES, type Scope } from '../../../core/merchant.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import type { ScreenRequest } from '../../frame/screen.ts'
import { KEYS_PATH } from './tabs.ts'

const PRESETS = {
  read: SCOPES.filter((scope) => scope.endsWith(':read')),
  pay: ['checkout:write', 'charges:write', 'links:write'],
} as const satisfies Record<string, readonly Scope[]>

type Preset = keyof typeof PRESETS

export function mayGrant({ person, isTest }: ScreenRequest, scope: string): boolean {
  return grantsScope(grantableScopes(isTest ? 'test' : 'live', person.scopes), scope)
}

export function chosenScopes({ form }: Pick<ScreenRequest, 'form'>): Scope[] {
  return SCOPES.filter((scope) => form[`scope:${scope}`] !== undefined)
}

const presetScopes = (request: ScreenRequest, preset: Preset): readonly Scope[] =>
  PRESETS[preset].filter((scope) => mayGrant(request, scope))

const isPreset = (name: string | undefined): name is Preset =>
  name !== undefined && Object.hasOwn(PRESETS, name)

export function rightsFields(request: ScreenRequest, error: string | undefined): Html {
  const { query, texts, isTest } = request
  const { t } = texts
  const chosen = isPreset(query.preset) ? presetScopes(request, query.preset) : chosenScopes(request)
  const isLimited = SCOPES.some((scope) => !mayGrant(request, scope))
  return html`<fieldset${error && html` aria-describedby="scopes-error"`}><legend>${t('keyScopes')}</legend>${error && html`<p class="error" id="scopes-error">${error}</p>`}
<p class="hint">${t(isTest ? 'keyScopesTest' : 'keyScopesHint')} ${isLimited && t('keyScopesAsk')} <a href="/docs/scopes">${t('keyScopesDocs')}</a></p>
${presetLinks(request)}<div class="ticks rights">${SCOPES.map((scope) => scopeTick(request, scope, chosen.includes(scope)))}</div></fieldset>`
}

/** Links and not buttons: they work without the script. */
function presetLinks(request: ScreenRequest): Html {
  const { t } = request.texts
  // A boundary: Object.keys of a constant object returns exactly the keys of its type.
  const presets = (Object.keys(PRESETS) as Preset[]).filter((one) => presetScopes(request, one).length > 0)
  return html`<p>${t('keyPresets')} ${presets.map((one) => html`<a class="button plain small" href="${KEYS_PATH}/new?preset=${one}">${t(`keyPreset_${one}`)}</a> `)}</p>`
}

function scopeTick(request: ScreenRequest, scope: Scope, isChecked: boolean): Html {
  const { texts } = request
  const isGrantable = mayGrant(request, scope)
  return html`<label class="tick"><input type="checkbox" name="scope:${scope}"${isGrantable && isChecked && html` checked`}${!isGrantable && html` disabled`}> <span><code>${scope}</code>${!isGrantable && ` (${texts.t('keyNotInRole')})`}<span class="sub">${texts.word('scope', scope.replace(':', '_'))}</span></span></label>`
}
