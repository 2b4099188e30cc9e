"""What a model's SQL may be made of: kinds of syntax and functions, one list for all engines and one for each.

An allow-list, because engines grow functions that read files, sleep, dial out or change settings
faster than anybody can list them. A function that is missing here costs a repair, not a leak.
"""

from __future__ import annotations

# sqlglot's syntax classes that are not functions. Binary operators and connectors are covered by their base classes.
_SYNTAX = """
    Alias Aliases All Any AtTimeZone Between BitwiseNot Boolean Bracket CTE Column Comprehension Cube DataType
    DataTypeParam Distinct Escape Except Fetch Filter From Group GroupingSets Having HavingMax HexString
    Identifier IgnoreNulls In Intersect Interval IntervalSpan JSONKeyValue JSONPath JSONPathKey JSONPathRoot
    JSONPathSlice JSONPathSubscript JSONPathWildcard Join Kwarg Lambda Lateral Limit LimitOptions Literal
    National Neg Not Null Offset Order Ordered Paren Pivot PivotAlias PropertyEQ Qualify RespectNulls Rollup
    Select Slice Star Subquery Table TableAlias TableSample Tuple Union UnpivotColumns Values Var Where Window
    WindowSpec With WithinGroup
"""
SYNTAX = frozenset(_SYNTAX.split())

# Binary classes of sqlglot that mean more than an operator on values.
NOT_OPERATORS = frozenset({"Operator", "MatchAgainst"})

_COMMON = """
    and or xor case if cast try_cast coalesce nullif greatest least exists convert abs ceil ceiling floor round
    trunc truncate sign sqrt cbrt exp ln log log2 log10 pow power mod div pi degrees radians sin cos tan cot
    asin acos atan atan2 sinh cosh tanh factorial gcd lcm width_bucket is_nan is_inf count sum avg min max
    stddev stddev_pop stddev_samp std variance var_pop var_samp variance_pop corr covar_pop covar_samp
    regr_slope regr_intercept regr_r2 regr_count regr_avgx regr_avgy median mode quantile percentile_cont
    percentile_disc approx_quantile approx_distinct skewness kurtosis group_concat string_agg listagg array_agg
    any_value first last first_value last_value nth_value arg_max arg_min max_by min_by arbitrary count_if
    bool_and bool_or logical_and logical_or every bit_and bit_or bit_xor bitwise_and_agg bitwise_or_agg
    bitwise_xor_agg product row_number rank dense_rank percent_rank cume_dist ntile lag lead grouping lower
    lcase upper ucase length len char_length character_length octet_length byte_length bit_length trim ltrim
    rtrim btrim replace substr substring mid left right lpad rpad pad reverse repeat concat concat_ws instr
    position str_position locate strpos ascii chr char unicode initcap translate split_part split starts_with
    ends_with contains levenshtein soundex space elt substring_index overlay collate regexp_like regexp_matches
    regexp_replace regexp_extract regexp_substr regexp_instr regexp_count regexp_full_match regexp_i_like hex
    lower_hex md5 to_char number_to_str format typeof rand random bitwise_count sha2 date time datetime
    timestamp current_date current_time current_timestamp current_datetime localtime localtimestamp now curdate
    curtime date_add date_sub date_diff datediff date_part date_trunc datetime_add datetime_diff datetime_sub
    datetime_trunc timestamp_trunc timestamp_add timestamp_sub timestamp_diff time_add time_sub time_diff
    time_trunc timestampdiff timestampadd datepart extract year quarter month week day hour minute second
    day_of_week dayofweek day_of_week_iso day_of_month dayofmonth day_of_year dayofyear week_of_year weekofyear
    weekday yearofweek yearweek year_of_week year_of_week_iso dayname monthname last_day months_between
    add_months age make_date date_from_parts time_from_parts timestamp_from_parts make_interval interval to_days
    strftime strptime date_format str_to_date str_to_time time_to_str time_to_unix unix_to_time unix_to_str
    str_to_unix to_date to_timestamp unix_timestamp from_unixtime ts_or_ds_to_date ts_or_ds_to_timestamp
    ts_or_ds_to_datetime ts_or_ds_to_time ts_or_ds_to_date_str ts_or_ds_add ts_or_ds_diff ts_or_di_to_di
    date_str_to_date date_to_date_str time_str_to_time time_str_to_date time_to_time_str cast_to_str_type
    unix_seconds unix_millis unix_micros unix_date json_extract json_extract_scalar json_value json_array_length
    json_type json_valid json_object json_array json json_keys
"""

_SQLITE = """
    total ifnull iif likely unlikely likelihood glob like julianday unixepoch timediff printf quote json_each
    json_tree json_group_array json_group_object json_quote concat_ws
"""

_DUCKDB = """
    ifnull list_value list_contains list_has array_contains array_length array_size list_aggregate list_sum
    list_avg list_min list_max list_count list_sort list_reverse_sort list_distinct list_unique list_filter
    list_transform list_apply list_position array_position list_extract list_element list_concat array_concat
    list_slice array_slice list_any_value array_to_string array_sort array_distinct array_filter transform array
    array_sum array_max array_min array_any array_all array_unique_agg flatten len unnest explode list
    string_split str_split string_to_array regexp_split_to_array regexp_extract_all string_split_regex
    regexp_split jaccard jaro_similarity jaro_winkler_similarity jarowinkler_similarity damerau_levenshtein
    hamming editdist3 strip_accents nfc_normalize prefix suffix like_escape columns favg fsum kahan_sum sumkahan
    geomean geometric_mean histogram entropy mad quantile_cont quantile_disc reservoir_quantile
    approx_count_distinct approx_top_k any isodow isoyear era epoch epoch_ms epoch_us epoch_ns century decade
    millennium day_name month_name to_years to_months to_weeks to_hours to_minutes to_seconds to_milliseconds
    make_time make_timestamp datesub date_bin time_bucket try_strptime isfinite isinf isnan even nextafter
    bit_count printf round_even to_base64 to_map struct_pack struct_extract struct map map_keys map_values
    map_extract map_contains row to_json from_json json_extract_string json_array_elements generate_series range
    strlen left_grapheme array_agg median concat sha256 hash bar greatest_common_divisor union_value nvl try
    list_product list_median list_mode list_stddev_samp list_var_samp list_string_agg list_bool_and list_bool_or
    list_first list_last list_zip
"""

_POSTGRES = """
    to_number justify_days justify_hours justify_interval isfinite string_to_array array_to_string array_length
    array_position array_positions array_remove array_append array_cat array_upper array_lower cardinality
    unnest explode exploding_generate_series generate_series array array_size array_contains array_contains_all
    array_overlaps array_contained_by array_concat jsonb_extract_path jsonb_extract_path_text json_extract_path
    json_extract_path_text jsonb_array_length jsonb_typeof json_typeof jsonb_array_elements json_array_elements
    jsonb_array_elements_text json_array_elements_text jsonb_each jsonb_each_text json_each_text
    jsonb_object_keys json_object_keys jsonb_agg json_agg jsonb_object_agg json_object_agg json_build_object
    jsonb_build_object json_build_array jsonb_build_array jsonb_extract jsonb_extract_scalar jsonb_contains
    jsonb_exists jsonb_contains_any_top_keys jsonb_contains_all_top_keys jsonb_contains_top_key
    jsonb_path_exists to_json to_jsonb row_to_json regexp_match regexp_split_to_array regexp_split_to_table
    make_time make_timestamp date_bin quote_literal quote_ident string_to_table to_tsvector to_tsquery
    plainto_tsquery websearch_to_tsquery ts_rank numrange int4range daterange lower_inc upper_inc isempty row
    j_s_o_n_b_contains_top_key j_s_o_n_b_contains j_s_o_n_b_exists j_s_o_n_b_contains_any_top_keys
    j_s_o_n_b_contains_all_top_keys div scale trim_scale clock_timestamp statement_timestamp
    transaction_timestamp num_nonnulls num_nulls unaccent similarity
"""

_MYSQL = """
    ifnull if isnull strcmp field find_in_set lcase ucase conv bin oct crc32 adddate subdate addtime subtime
    date_format time_format get_format makedate maketime microsecond period_add period_diff sec_to_time
    time_to_sec to_seconds from_days timediff utc_date utc_time utc_timestamp sysdate weekofyear json_unquote
    json_contains json_length json_search json_arrayagg json_objectagg json_array_agg json_object_agg bit_count
    inet_ntoa inet_aton quote regexp_instr convert
"""

FUNCTIONS: dict[str, frozenset[str]] = {
    dialect: frozenset((_COMMON + own).split())
    for dialect, own in (("sqlite", _SQLITE), ("duckdb", _DUCKDB), ("postgres", _POSTGRES), ("mysql", _MYSQL))
}

# Functions of other engines that models write by habit, with what this engine has.
INSTEAD: dict[str, dict[str, str]] = {
    "sqlite": {
        "year": "strftime('%Y', column)",
        "month": "strftime('%m', column)",
        "day": "strftime('%d', column)",
        "to_char": "strftime(format, column)",
        "now": "datetime('now')",
        "string_agg": "group_concat(column, separator)",
        "left": "substr(column, 1, n)",
        "right": "substr(column, -n)",
        "median": "a window with row_number() and count(*)",
        "stddev": "sqrt(avg(x * x) - avg(x) * avg(x))",
    },
    "duckdb": {"julianday": "date_diff('day', a, b)", "to_char": "strftime(column, format)"},
    "postgres": {"strftime": "to_char(column, format)", "julianday": "a - b"},
    "mysql": {"strftime": "date_format(column, format)", "julianday": "datediff(a, b)"},
}
