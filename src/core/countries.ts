// The country codes of ISO 3166-1 alpha-2, and XK for Kosovo; and the time zone of each served country.

const CODES = `AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ
  CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR
  GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP
  KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT
  MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW
  SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG
  UM US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW`

const COUNTRY_CODES: ReadonlySet<string> = new Set(CODES.split(/\s+/))

/** Accepts upper and lower case. */
export function isCountry(text: string): boolean {
  return COUNTRY_CODES.has(text.toUpperCase())
}

// In a country with several time zones, the one with the most people.
const ZONES = `AD Europe/Andorra AS Pacific/Pago_Pago AT Europe/Vienna BD Asia/Dhaka BE Europe/Brussels
  BF Africa/Ouagadougou BG Europe/Sofia BI Africa/Bujumbura BJ Africa/Porto-Novo BQ America/Kralendijk
  BW Africa/Gaborone CA America/Toronto CD Africa/Kinshasa CF Africa/Bangui CG Africa/Brazzaville CI Africa/Abidjan
  CM Africa/Douala CY Asia/Nicosia DE Europe/Berlin EC America/Guayaquil EE Europe/Tallinn EG Africa/Cairo
  ES Europe/Madrid ET Africa/Addis_Ababa FI Europe/Helsinki FM Pacific/Chuuk FR Europe/Paris GA Africa/Libreville
  GB Europe/London GG Europe/Guernsey GH Africa/Accra GM Africa/Banjul GQ Africa/Malabo GR Europe/Athens
  GU Pacific/Guam GW Africa/Bissau HR Europe/Zagreb IE Europe/Dublin IM Europe/Isle_of_Man IO Indian/Chagos
  IT Europe/Rome JE Europe/Jersey KE Africa/Nairobi LR Africa/Monrovia LS Africa/Maseru LT Europe/Vilnius
  LU Europe/Luxembourg LV Europe/Riga MC Europe/Monaco ME Europe/Podgorica MH Pacific/Majuro ML Africa/Bamako
  MP Pacific/Saipan MT Europe/Malta MU Indian/Mauritius MW Africa/Blantyre MZ Africa/Maputo NA Africa/Windhoek
  NE Africa/Niamey NG Africa/Lagos NL Europe/Amsterdam PA America/Panama PR America/Puerto_Rico PT Europe/Lisbon
  PW Pacific/Palau RW Africa/Kigali SI Europe/Ljubljana SK Europe/Bratislava SL Africa/Freetown
  SM Europe/San_Marino SN Africa/Dakar SS Africa/Juba SV America/El_Salvador TC America/Grand_Turk
  TD Africa/Ndjamena TG Africa/Lome TL Asia/Dili TZ Africa/Dar_es_Salaam UG Africa/Kampala UM Pacific/Wake
  US America/New_York VA Europe/Vatican VG America/Tortola VI America/St_Thomas XK Europe/Belgrade
  ZA Africa/Johannesburg ZM Africa/Lusaka ZW Africa/Harare`

const ZONE_BY_COUNTRY: ReadonlyMap<string, string> = new Map(
  Array.from(ZONES.matchAll(/([A-Z]{2}) (\S+)/g), ([, country = '', zone = '']) => [country, zone]),
)

/** The time zone in which we show deadlines to payers of a country. */
export function timeZoneOf(country: string | null): string {
  return (country === null ? undefined : ZONE_BY_COUNTRY.get(country)) ?? 'UTC'
}

// Of the countries above. Elsewhere one time zone is in use.
const SEVERAL_ZONES: ReadonlySet<string> = new Set(['CA', 'CD', 'EC', 'ES', 'FM', 'PT', 'UM', 'US'])

/** Whether every payer of the country has the same time. */
export function hasOneTimeZone(country: string | null): boolean {
  return country !== null && ZONE_BY_COUNTRY.has(country) && !SEVERAL_ZONES.has(country)
}
