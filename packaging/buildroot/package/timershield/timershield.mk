################################################################################
#
# timershield
#
################################################################################

TIMERSHIELD_VERSION = 1.0.0
TIMERSHIELD_SITE = $(BR2_EXTERNAL_TIMERSHIELD_PATH)/../../tools
TIMERSHIELD_SITE_METHOD = local
TIMERSHIELD_LICENSE = GPL-2.0-or-later
TIMERSHIELD_CONF_OPTS = -Dbpf=disabled

ifeq ($(BR2_LINUX_KERNEL_EXT_TIMERSHIELD),y)
define TIMERSHIELD_LINUX_CONFIG_FIXUPS
	$(call KCONFIG_ENABLE_OPT,CONFIG_TIMERSHIELD)
endef
endif

$(eval $(meson-package))
